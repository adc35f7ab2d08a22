"""`hs doctor` through the installed `hs`, where things are fine and where everything is broken."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import Any

from fakes.api_server import api_server
from project import Project, Result

KEY = "gsk_0123456789abcdefghijkl"
READY = {"GROQ_API_KEY": KEY}


def checks(result: Result) -> list[dict[str, Any]]:
    return list(json.loads(result.stdout)["checks"])


def said(result: Result, what: str) -> dict[str, Any]:
    return next(each for each in checks(result) if each["what"] == what)


def test_with_a_key_it_says_what_hs_would_use_and_why(project: Project) -> None:
    result = project.run("doctor", env=READY)
    assert result.code == 0
    assert "hs would use     groq, model openai/gpt-oss-120b (GROQ_API_KEY is set)" in result.stdout
    assert "ready" in result.stdout.splitlines()[-1]


def test_without_any_model_it_fails_and_names_three_ways_out(project: Project) -> None:
    result = project.run("doctor")
    assert result.code == 1
    end = result.stdout.split("The shortest ways out:\n")[1].splitlines()
    assert len(end) == 3
    assert "export ANTHROPIC_API_KEY" in end[0]
    assert "hs auth set" in end[1]
    assert "ollama" in end[2]


def test_it_shows_where_a_key_comes_from_and_never_the_key(project: Project) -> None:
    stored = project.home / ".harness" / ".auth.json"
    stored.parent.mkdir()
    stored.write_text(json.dumps({"openai": [{"type": "api_key", "key": "sk-abcdefghijklmnopqrstuvwx"}]}))
    stored.chmod(0o600)
    for words in (["doctor"], ["doctor", "--json"]):
        result = project.run(*words, env=READY)
        assert "environment: GROQ_API_KEY" in result.stdout
        assert "gsk_...ijkl" in result.stdout
        assert ".harness/.auth.json" in result.stdout
        assert KEY not in result.stdout
        assert "efghijklmnopqrst" not in result.stdout


def test_interpreter_directories_terminal_and_programs_are_reported(project: Project) -> None:
    result = project.run("doctor", "--json", env=READY)
    assert said(result, "python")["level"] == "ok"
    assert said(result, "home")["text"] == "~/.harness"
    assert said(result, "sessions")["level"] == "ok"
    assert "no /dev/tty" in said(result, "terminal")["text"]
    assert said(result, "hs")["level"] == "ok"
    assert said(result, "git")["text"].endswith("/git")
    assert said(result, "prompt_toolkit")["text"] == "installed"


def test_sources_are_listed_in_order_of_priority_with_their_trust(project: Project) -> None:
    (project.home / ".harness").mkdir()
    project.file(".harness/plugins/garden/tools/x", "", 0o755)
    found = [each for each in checks(project.run("doctor", "--json", env=READY)) if each["what"].isdigit()]
    assert [each["what"] for each in found] == ["1", "2", "3"]
    assert found[0]["text"] == "~/.harness  (home, your own)"
    assert "pack garden, trusted: it did not come with a checkout" in found[1]["text"]
    assert found[2]["text"].startswith(f"{project.harness}  (project, trusted")


def test_a_checkout_that_is_not_trusted_is_reported(project: Project) -> None:
    project.tool("evil", "touch ran")
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=project.dir, env=project.env, check=True)
    result = project.run("doctor", env=READY)
    assert f"{project.harness}: hs trust shows what it holds" in result.stdout
    assert not (project.dir / "ran").exists()


def test_near_misses_and_broken_tools_are_reported_once_each(project: Project) -> None:
    project.drop("tools/forgotten", "echo", 0o644)
    project.drop("tools/broken", "echo nonsense")
    project.file(".harness/skills/x/SKILL.md", "no front matter")
    project.settings("what is this")
    shown = project.run("doctor", env=READY).stdout
    broken = ("tools/forgotten: not executable", "tools/broken: --schema printed", "x/SKILL.md: ", "conf:1: ")
    for word in broken:
        assert shown.count(word) == 1, word


def test_a_corrupt_credential_file_is_named_and_stops_nothing(project: Project) -> None:
    path = project.home / ".harness" / ".auth.json"
    path.parent.mkdir()
    path.write_text('{"anthropic": ')
    path.chmod(0o600)
    result = project.run("doctor", env=READY)
    assert result.code == 0
    assert ".auth.json: is not valid JSON" in result.stdout


def test_a_credential_file_that_others_can_read_is_pointed_out(project: Project) -> None:
    path = project.home / ".harness" / ".auth.json"
    path.parent.mkdir()
    path.write_text("{}")
    path.chmod(0o644)
    assert "can be read by others: chmod 600" in project.run("doctor", env=READY).stdout


def test_it_works_when_the_home_is_a_file_and_no_session_could_be_kept(project: Project) -> None:
    blocked = project.file("blocked", "")
    result = project.run("doctor", "--json", env={**READY, "HARNESS_HOME": str(blocked)})
    assert result.code == 1
    assert said(result, "hs would use")["level"] == "ok"
    assert said(result, "home")["level"] == "bad"
    assert said(result, "home")["text"].endswith("not a directory")


def test_it_works_without_home_and_with_an_empty_path(project: Project) -> None:
    del project.env["HOME"]
    project.env["HARNESS_HOME"] = str(project.dir / "mine")
    result = project.run("doctor", "--json", env={**READY, "PATH": "/nowhere"})
    assert result.code == 0
    assert said(result, "HOME")["level"] == "note"
    assert said(result, "bash")["level"] == "bad"
    assert said(result, "git")["level"] == "note"


def test_misspelt_variables_and_bad_values_are_pointed_out(project: Project) -> None:
    env = {**READY, "HARNESS_PROVIDR": "x", "HARNESS_MAX_TURNS": "many", "SSL_CERT_FILE": "/nowhere.pem"}
    result = project.run("doctor", "--json", env=env)
    assert said(result, "HARNESS_PROVIDR")["text"] == "unknown: did you mean HARNESS_PROVIDER?"
    assert said(result, "HARNESS_MAX_TURNS")["level"] == "bad"
    assert said(result, "SSL_CERT_FILE")["level"] == "bad"


def test_a_provider_that_does_not_exist_makes_it_fail(project: Project) -> None:
    result = project.run("doctor", env={**READY, "HARNESS_PROVIDER": "nope"})
    assert result.code == 1
    assert "there is no provider 'nope'" in result.stdout


def test_what_a_killed_run_left_behind_is_ended(project: Project) -> None:
    project.tool("linger", "echo started > started; exec sleep 300")
    script = project.script([{"calls": [{"name": "linger", "input": {}}]}, {"say": "done"}])
    process = project.start("-p", "scripted", "--json", "--", "go", env={"BRIDOON_SCRIPT": script})
    assert process.stdout is not None
    for line in process.stdout:
        if b"tool_start" in line:
            break
    while not (project.dir / "started").exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=10)
    result = project.run("doctor", "--json", env=READY)
    assert said(result, "processes")["text"].endswith("ended now")


def test_a_model_server_on_this_machine_is_found_and_would_be_used(project: Project) -> None:
    with api_server() as api:
        api.models = ["tiny-1"]
        project.provider("ollama.conf", f"protocol=openai\nurl={api.chat_url}\n")
        result = project.run("doctor", env={"HARNESS_DETECT_LOCAL": "on"})
    assert result.code == 0
    assert f"ollama           a model server answers at {api.url}: tiny-1" in result.stdout
    assert "hs would use     ollama, model tiny-1" in result.stdout
