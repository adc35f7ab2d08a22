"""Providers: an executable, its optional flags, packs that belong to one, `.conf` variants."""

from __future__ import annotations

import json

from project import Project
from requirements import requirement

ANSWER = {
    "model": "m-1",
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 7, "output_tokens": 2},
    "content": [{"type": "text", "text": "I am mine"}],
}


def _provider(flags: str = "", answer: dict[str, object] | None = None) -> str:
    text = json.dumps(answer or ANSWER)
    return f'case "${{1:-}}" in\n{flags}\nesac\ncat > "$HARNESS_CWD/payload"\ncat <<\'JSON\'\n{text}\nJSON'


def _run(project: Project, *words: str, env: dict[str, str] | None = None) -> str:
    result = project.run("--json", *words, env=env)
    assert result.code == 0, result
    return result.output


@requirement("providers:raw-response", "layout:providers")
def test_a_provider_reads_the_payload_and_prints_the_raw_response(project: Project) -> None:
    project.provider("mine", _provider())
    assert _run(project, "-p", "mine", "-m", "m-1", "hello") == "I am mine"
    payload = json.loads((project.dir / "payload").read_text("utf-8"))
    assert payload["messages"][-1]["role"] == "user"
    assert "hello" in json.dumps(payload["messages"][-1])
    assert {"system", "tools", "model"} <= payload.keys()


@requirement("providers:raw-response")
def test_a_bare_provider_can_call_tools(project: Project) -> None:
    tool = {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "echo ran > ran"}}
    calls = {**ANSWER, "stop_reason": "tool_use", "content": [tool]}
    first, then = json.dumps(calls), json.dumps(ANSWER)
    project.provider("mine", f"if grep -q tool_result; then echo '{then}'; else echo '{first}'; fi")
    assert _run(project, "-p", "mine", "-m", "m", "hello") == "I am mine"
    assert (project.dir / "ran").read_text("utf-8") == "ran\n"


@requirement("providers:flags")
def test_the_optional_flags_describe_choose_and_default(project: Project) -> None:
    flags = """\
    --describe) echo my provider; exit ;;
    --ready) [ -n "$MY_KEY" ]; exit ;;
    --defaults) echo model=m-9; exit ;;
    --env) echo "MY_KEY  the key"; exit ;;
    """
    project.provider("mine", _provider(flags))
    project.run("--json", "hello", env={"MY_KEY": "1"})
    assert json.loads((project.dir / "payload").read_text("utf-8"))["model"] == "m-9"
    listed = project.run("providers").stdout + project.run("help").stdout
    assert "my provider" in listed
    assert "MY_KEY" in listed


@requirement("providers:flags")
def test_a_provider_that_streams_is_shown_as_it_writes(project: Project) -> None:
    line = '{"type":"text","text":"I am "}'
    body = f'[ "${{1:-}}" = --stream ] && echo \'{line}\' >> "$HARNESS_SESSION/.stream"\n' + _provider()
    project.provider("mine", body)
    result = project.run("--json", "-p", "mine", "-m", "m", "hello")
    assert [event["text"] for event in result.events if event["type"] == "text"] == ["I am "]
    assert result.output == "I am mine"


@requirement("providers:scoping")
def test_a_provider_packs_hooks_and_tools_take_part_only_while_it_is_active(project: Project) -> None:
    project.provider("other", _provider()).rename(project.file(".harness/plugins/other/providers/other", "", 0o755))
    project.file(".harness/plugins/other/prompts/p.md", "only for other")
    project.file(".harness/plugins/plain/prompts/p.md", "for everybody")
    system = project.say().requests[-1]["system"]
    assert "for everybody" in system
    assert "only for other" not in system
    assert _run(project, "-p", "other", "-m", "m", "hello") == "I am mine"
    assert "only for other" in json.loads((project.dir / "payload").read_text("utf-8"))["system"]


@requirement("providers:conf")
def test_a_conf_names_a_service_that_speaks_a_known_api(project: Project) -> None:
    project.provider("speaks", _provider()).rename(project.file(".harness/plugins/speaks/providers/speaks", "", 0o755))
    project.provider(
        "mine.conf",
        "protocol=speaks\ndescription=My Endpoint\nmodel=foo-1\nurl=https://api.example.com/v1\nauth_env=MY_API_KEY\n",
    )
    env = {"MY_API_KEY": "s3cret"}
    assert _run(project, "-p", "mine", "hello", env=env) == "I am mine"
    assert json.loads((project.dir / "payload").read_text("utf-8"))["model"] == "foo-1"
    assert "My Endpoint" in project.run("providers").stdout


@requirement("providers:conf")
def test_the_protocols_executable_is_told_url_and_key_of_the_variant(project: Project) -> None:
    note = 'echo "$SPEAKS_API_URL $SPEAKS_API_KEY" > "$HARNESS_CWD/told"\n'
    project.provider("speaks", note + _provider())
    project.provider("mine.conf", "protocol=speaks\nmodel=foo-1\nurl=https://api.example.com/v1\nauth_env=MY_API_KEY\n")
    _run(project, "-p", "mine", "hello", env={"MY_API_KEY": "s3cret"})
    assert (project.dir / "told").read_text("utf-8") == "https://api.example.com/v1 s3cret\n"


@requirement("providers:auth-set")
def test_hs_auth_set_stores_credentials_under_a_variants_name(project: Project) -> None:
    project.provider("speaks", 'echo "$SPEAKS_API_KEY" > "$HARNESS_CWD/told"\n' + _provider())
    project.provider("mine.conf", "protocol=speaks\nmodel=foo-1\nurl=https://api.example.com/v1\n").rename(
        _home(project, "providers/mine.conf")
    )
    stored = project.run("auth", "set", "mine", stdin="stored-key\n")
    assert stored.code == 0, stored
    assert "stored-key" not in project.run("auth", "list").stdout
    _run(project, "-p", "mine", "hello")
    assert (project.dir / "told").read_text("utf-8") == "stored-key\n"


def _home(project: Project, path: str) -> str:
    target = project.home / ".harness" / path
    target.parent.mkdir(parents=True, exist_ok=True)
    return str(target)
