"""`bin/harness` and `lib/session.sh`: what commands in bash source, and what they get."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from project import Project, bash
from requirements import requirement

import bridoon

ROOT = Path(bridoon.__file__).parent
SHIM = ROOT / "bin" / "harness"

needs_jq = pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")

SOURCE = f'source "${{HARNESS_ROOT:-{ROOT}}}/bin/harness"\nsource "$HARNESS_ROOT/plugins/core/lib/session.sh"\n'

ASK = """
case "${1:-}" in --describe) echo "asks"; exit 0 ;; esac
source "$HARNESS_ROOT/bin/harness"
source "$HARNESS_ROOT/plugins/core/lib/session.sh"
_refresh_sources
given="$(printf '{"provider":"%s","model":"%s"}' "$HARNESS_PROVIDER" "$HARNESS_MODEL")"
choice="$(call resolve <<< "$given")" || _die "no provider"
HARNESS_PROVIDER="$(jq -r .provider <<< "$choice")"
HARNESS_MODEL="$(jq -r .model <<< "$choice")"
export HARNESS_PROVIDER HARNESS_MODEL
session="$(_new_session)"
echo "session: $(basename "$session")" >&2
_save_message "$session" "$*"
agent_loop "$session"
"""


def shell(project: Project, text: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run bash with both files sourced."""
    project.started = True
    words = ["bash", "-c", SOURCE + text]
    return subprocess.run(
        words,
        cwd=project.dir,
        env={**project.env, **env},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_executed_it_is_hs(project: Project) -> None:
    env = {**project.env, "BRIDOON_SCRIPT": project.script([{"say": "hello"}])}
    project.started = True
    for words, said in (
        (["version"], f"harness {bridoon.__version__}\n"),
        (["-p", "scripted", "go"], "hello\n"),
    ):
        done = subprocess.run(
            [SHIM, *words],
            cwd=project.dir,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.stdout, done.returncode) == (said, 0), done.stderr


def test_a_module_in_the_working_directory_is_not_taken_for_one_of_ours(project: Project) -> None:
    for name in ("json", "bridoon", "typing"):
        project.file(f"{name}.py", "raise SystemExit('hijacked')")
    done = shell(project, "_refresh_sources && echo ${#_HARNESS_SOURCES[@]}")
    assert "hijacked" not in done.stdout + done.stderr
    assert int(done.stdout) > 3


def test_sourced_it_sets_and_exports_the_documented_variables(project: Project) -> None:
    names = ["VERSION", "ROOT", "HOME", "SESSIONS", "MODEL", "PROVIDER", "MAX_TURNS", "LOG"]
    done = shell(project, f"env | grep -E '^HARNESS_({'|'.join(names)})='")
    seen = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert seen == {
        "HARNESS_VERSION": bridoon.__version__,
        "HARNESS_ROOT": str(ROOT),
        "HARNESS_HOME": str(project.home / ".harness"),
        "HARNESS_SESSIONS": str(project.sessions),
        "HARNESS_MODEL": "",
        "HARNESS_PROVIDER": "",
        "HARNESS_MAX_TURNS": "100",
        "HARNESS_LOG": "/dev/stderr",
    }


def test_sessions_lie_in_the_nearest_project_that_has_a_folder_for_them(project: Project) -> None:
    (project.harness / "sessions").mkdir()
    assert shell(project, 'echo "$HARNESS_SESSIONS"').stdout == f"{project.harness}/sessions\n"


def test_sourcing_it_makes_errors_end_the_script(project: Project) -> None:
    done = shell(project, "false\necho still here")
    assert (done.stdout, done.returncode) == ("", 1)


@requirement("discovery:refresh-sources")
def test_refresh_sources_lists_the_sources_lowest_first(project: Project) -> None:
    project.file(".harness/plugins/kit/tools/x", "", 0o755)
    done = shell(project, '_refresh_sources\nprintf \'%s\\n\' "${_HARNESS_SOURCES[@]}"\necho "$HARNESS_SOURCES"')
    *listed, joined = done.stdout.splitlines()
    assert listed[-2:] == [f"{project.harness}/plugins/kit", str(project.harness)]
    assert f"{ROOT}/plugins/core" in listed
    assert joined == ":".join(listed)


def test_call_runs_the_hooks_of_the_directories_that_the_array_names(project: Project) -> None:
    for name in ("20-b", "10-a"):
        project.hook(f"mine/{name}", f'echo "$(cat) {name} $1 $HARNESS_STAGE ${{HARNESS_SESSION##*/}}"')
    other = project.dir / "other"
    (project.harness / "hooks.d").rename(other.with_name("hooks.d"))
    text = f"_HARNESS_SOURCES=({project.dir})\nSESSION_DIR=/some/where\necho any text | call mine word"
    assert shell(project, text).stdout == "any text 10-a word mine where 20-b word mine where"


def test_call_without_hooks_gives_back_what_it_was_given(project: Project) -> None:
    assert shell(project, "printf 'as it was' | call nothing").stdout == "as it was"


def test_call_fails_with_the_status_of_the_hook_and_says_why(project: Project) -> None:
    project.hook("send/10-fail", "echo first >&2; echo 'curl: (28) timed out' >&2; exit 3")
    text = f"_HARNESS_SOURCES=({project.harness})\nrc=0; out=$(echo '{{}}' | call send) || rc=$?\n"
    text += 'echo "$rc"; echo "$out"'
    code, said = shell(project, text, HARNESS_LOG="/dev/null").stdout.splitlines()
    assert code == "3"
    assert "10-fail" in json.loads(said)["error"]
    assert "timed out" in json.loads(said)["error"]


def test_call_keeps_an_error_that_the_hook_printed(project: Project) -> None:
    project.hook("send/10-fail", 'echo noise >&2; echo \'{"error": "model unsupported", "more": 1}\'; exit 1')
    text = f"_HARNESS_SOURCES=({project.harness})\necho '{{}}' | call send || true"
    assert json.loads(shell(project, text).stdout) == {"error": "model unsupported", "more": 1}


def test_bundled_hooks_answer_a_call_too(project: Project) -> None:
    done = shell(project, "_refresh_sources\necho '{}' | call start")
    assert json.loads(done.stdout) == {"next_state": "assemble"}


def test_find_command_prints_a_path_or_an_empty_line(project: Project) -> None:
    path = project.command("mine", "true")
    done = shell(project, "_refresh_sources\n_find_command mine\n_find_command nothing\n_find_command agent")
    assert done.stdout.splitlines() == [str(path), "", f"{ROOT}/plugins/core/commands/agent"]


def test_log_and_die(project: Project) -> None:
    done = shell(project, "_log noted\n_die that is it\necho not reached", HARNESS_LOG=str(project.dir / "log"))
    assert (project.dir / "log").read_text("utf-8") == "[harness] noted\n"
    assert (done.stdout, done.stderr, done.returncode) == ("", "harness: that is it\n", 1)


def test_sessions_and_messages_are_made_as_the_program_makes_them(project: Project) -> None:
    save = """_save_message "$d" $'two\\nlines, "quoted" $x'"""
    text = f'd=$(_new_session "$PWD/sub")\necho "$d"\n_next_seq "$d"\n{save}\n_next_seq "$d"'
    (project.dir / "sub").mkdir()
    directory, first, then = shell(project, text).stdout.splitlines()
    from bridoon.session import store

    session = store.open_session(directory)
    assert (first, then) == ("0001", "0002")
    assert session.cwd == str(project.dir / "sub")
    assert [message.text for message in session.messages()] == ['two\nlines, "quoted" $x']


@needs_jq
def test_a_command_that_sources_it_carries_out_a_whole_run(project: Project) -> None:
    project.command("ask", ASK)
    script = project.script([{"call": bash("echo ran > ran")}, {"say": "all done"}])
    result = project.run("ask", "do", "it", env={"BRIDOON_SCRIPT": script, "HARNESS_PROVIDER": "scripted"})
    assert (result.stdout, result.code) == ("all done\n", 0), result
    assert (project.dir / "ran").exists()
    assert [message.role for message in result.messages] == ["user", "assistant", "tool_result", "assistant"]
    assert _last_event(project)["type"] == "done"


@needs_jq
def test_it_may_even_take_the_place_of_the_bundled_agent(project: Project) -> None:
    project.command("agent", ASK)
    env = {"BRIDOON_SCRIPT": project.script([{"say": "by bash"}]), "HARNESS_PROVIDER": "scripted"}
    assert project.run("do it", env=env).stdout == "by bash\n"


@needs_jq
def test_agent_loop_fails_when_a_stage_failed(project: Project) -> None:
    project.command("ask", ASK)
    project.hook("start/05-boom", "cat > /dev/null; echo 'boom: it exploded' >&2; exit 1")
    result = project.run("ask", "x", env={"HARNESS_PROVIDER": "scripted", "BRIDOON_SCRIPT": project.script([])})
    assert result.code == 1
    assert "boom: it exploded" in result.stdout


def test_a_killed_agent_loop_takes_its_hooks_along_and_says_that_it_is_done(project: Project) -> None:
    fifo = project.dir / "started"
    os.mkfifo(fifo)
    project.hook("start/05-slow", f"cat > /dev/null; echo > {fifo}; sleep 60")
    text = 'd=$(_new_session)\necho "$d" > place\n_save_message "$d" hi\n_refresh_sources\nagent_loop "$d"'
    project.started = True
    env = {**project.env, "HARNESS_PROVIDER": "scripted", "BRIDOON_SCRIPT": project.script([{"say": "x"}])}
    process = subprocess.Popen(
        ["bash", "-c", SOURCE + text],
        cwd=project.dir,
        env=env,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    fifo.read_text("utf-8")
    process.send_signal(signal.SIGTERM)
    assert process.wait(10) == 143
    assert _last_event(project)["type"] == "done"


def test_agent_loop_works_as_a_background_job_under_job_control(project: Project) -> None:
    text = """
d=$(_new_session); _save_message "$d" hi; _refresh_sources
: > "$d/.stream"
set -m
agent_loop "$d" > out &
set +m
wait $! || echo "failed $?"
cat out
"""
    env = {"HARNESS_PROVIDER": "scripted", "BRIDOON_SCRIPT": project.script([{"say": "from the background"}])}
    assert shell(project, text, **env).stdout == "from the background\n"
    assert _last_event(project)["type"] == "done"


def test_names_that_begin_with_two_underscores_are_never_messages(project: Project) -> None:
    result = project.run("__nothing", "at", "all")
    assert result.code == 2
    assert "__nothing" in result.stderr
    assert not project.sessions.exists()


def _last_event(project: Project) -> dict[str, object]:
    lines = (project.newest_session() / ".stream").read_text("utf-8").splitlines()
    with contextlib.suppress(ValueError):
        value = json.loads(lines[-1])
        assert [json.loads(line)["type"] for line in lines].count("done") == 1
        return dict(value)
    raise AssertionError(lines)
