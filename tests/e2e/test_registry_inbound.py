"""The inbound registry of tools, sentence by sentence, through the command at scripts/bin."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator

import pytest
from ledgers import Place, Ran
from requirements import requirement

DEPLOY = """
scripts/bin/harness-cli tool register \\
  --name deploy-check \\
  --kind cli \\
  --capability deploy-verification \\
  --command ./scripts/deploy-check.sh \\
  --description "Verify deploy health before release" \\
  --responsibility Verification \\
  --args "env:enum:required:staging,production"
"""
GITNEXUS = """
scripts/bin/harness-cli tool register --name gitnexus --kind mcp \\
  --capability impact-analysis --scan ".gitnexus" --command "mcp:gitnexus" \\
  --description "Code-graph blast radius" --responsibility Verification
"""
C3 = """
scripts/bin/harness-cli tool register --name c3 --kind skill \\
  --capability impact-analysis --scan ".c3" --command "skill:c3" \\
  --description "Component model and drift audit (Claude skill)" \\
  --responsibility Verification
"""


@pytest.fixture
def repo(ledger: Place) -> Place:
    """A repository with the launcher in scripts/bin and the script of the first example."""
    ledger.run("init --shim")
    ledger.file("scripts/deploy-check.sh", "#!/bin/sh\nexit 0\n", mode=0o755)
    return ledger


@pytest.fixture
def endpoint() -> Iterator[int]:
    """The port of something that listens and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def shell(repo: Place, line: str) -> Ran:
    """Run a command line as it stands in a shell, in the repository."""
    done = subprocess.run(
        ["sh", "-c", line], cwd=repo.root, env=repo.env, capture_output=True, text=True, timeout=30, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def directory(repo: Place, name: str) -> None:
    (repo.root / name).mkdir()


def records(repo: Place, *options: str) -> dict[str, dict[str, object]]:
    found = json.loads(repo.run(["query", "tools", "--json", *options]).out)
    return {each["name"]: each for each in found}


def checked(repo: Place) -> dict[str, str]:
    return {each["name"]: each["status"] for each in json.loads(repo.run("tool check --json").out)}


@requirement("registry:register", "registry:args-example")
def test_the_first_example_registers_as_printed(repo: Place) -> None:
    done = shell(repo, DEPLOY)
    assert (done.code, done.out, done.err) == (0, "Tool deploy-check registered.\n", "")
    found = records(repo)["deploy-check"]
    assert found["args"] == [{"name": "env", "type": "enum", "required": True, "help": "staging,production"}]
    assert (found["kind"], found["capability"]) == ("cli", "deploy-verification")
    assert (found["responsibility"], found["source"]) == ("Verification", "registered")


@requirement("registry:register-mcp-skill")
def test_an_mcp_server_and_a_skill_register_as_printed(repo: Place) -> None:
    assert shell(repo, GITNEXUS).out == "Tool gitnexus registered.\n"
    assert shell(repo, C3).out == "Tool c3 registered.\n"
    found = records(repo, "--capability", "impact-analysis")
    assert {name: (each["kind"], each["scan_target"]) for name, each in found.items()} == {
        "gitnexus": ("mcp", ".gitnexus"),
        "c3": ("skill", ".c3"),
    }


@requirement("registry:kind")
def test_the_kind_is_one_of_five_and_cli_unless_given(repo: Place) -> None:
    repo.run(register("plain", "--command", "sh"))
    assert records(repo)["plain"]["kind"] == "cli"
    for kind in ("cli", "binary", "mcp", "skill", "http"):
        assert repo.run(register(f"a-{kind}", "--kind", kind, "--command", "sh")).code == 0
    wrong = repo.run(register("other", "--kind", "plugin", "--command", "sh"))
    assert wrong.code == 1
    assert all(kind in wrong.err for kind in ("cli", "binary", "mcp", "skill", "http"))


@requirement("registry:capability", "registry:valid-capability")
@pytest.mark.parametrize("spelling", ["Impact Analysis", "impact_analysis", "impact-analysis"])
def test_three_spellings_of_a_capability_are_one(repo: Place, spelling: str) -> None:
    repo.run(register("x", "--capability", spelling, "--command", "sh"))
    assert records(repo, "--capability", "impact-analysis")["x"]["capability"] == "impact-analysis"
    assert list(records(repo, "--capability", spelling)) == ["x"]


@requirement("registry:valid-capability")
@pytest.mark.parametrize("spelling", ["-x", "x-", "a--b", "a.b", "é", "a  b", ""])
def test_a_capability_that_is_not_kebab_case_is_refused(repo: Place, spelling: str) -> None:
    done = repo.run(register("x", f"--capability={spelling}", "--command", "sh"))
    assert done.code == 1
    assert done.out == ""
    assert "capability" in done.err


@requirement("registry:scan", "registry:probe-path")
def test_a_path_in_the_home_directory_and_a_url_are_scanned(repo: Place, endpoint: int) -> None:
    os.makedirs(os.path.join(repo.env["HOME"], ".claude", "skills", "c3"))
    repo.run(register("a", "--kind", "skill", "--scan", "~/.claude/skills/c3", "--command", "skill:c3"))
    repo.run(register("b", "--kind", "http", "--scan", f"http://localhost:{endpoint}/health", "--command", "x"))
    repo.run(register("c", "--kind", "mcp", "--scan", ".c3", "--command", "mcp:c3"))
    assert checked(repo) == {"a": "present", "b": "present", "c": "missing"}


@requirement("registry:force", "registry:valid-command")
def test_an_absent_command_needs_force_for_cli_and_binary_only(repo: Place) -> None:
    for kind in ("cli", "binary"):
        refused = repo.run(register(kind, "--kind", kind, "--command", "no-such-program"))
        assert refused.code == 1
        assert "no-such-program" in refused.err
        assert "--force" in refused.err
        assert repo.run([*register(kind, "--kind", kind, "--command", "no-such-program"), "--force"]).code == 0
    for kind in ("mcp", "skill", "http"):
        assert repo.run(register(kind, "--kind", kind, "--command", "no-such-program")).code == 0


@requirement("registry:remove")
def test_a_tool_is_removed_by_its_name(repo: Place) -> None:
    shell(repo, DEPLOY)
    assert shell(repo, "scripts/bin/harness-cli tool remove --name deploy-check").out == "Tool deploy-check removed.\n"
    assert "deploy-check" not in records(repo)
    assert repo.run("tool remove --name deploy-check").code == 1


@requirement("registry:check")
def test_registration_records_intent_and_check_reconciles_it_with_reality(repo: Place) -> None:
    shell(repo, GITNEXUS)
    shell(repo, C3)
    assert {each["status"] for each in records(repo, "--capability", "impact-analysis").values()} == {"unknown"}
    directory(repo, ".c3")
    done = shell(repo, "scripts/bin/harness-cli tool check")
    assert done.code == 0
    assert done.out.split("\n")[0].split() == ["name", "kind", "capability", "status", "detail"]
    found = records(repo, "--capability", "impact-analysis")
    assert (found["c3"]["status"], found["gitnexus"]["status"]) == ("present", "missing")
    assert all(isinstance(each["checked_at"], str) for each in found.values())


@requirement("registry:check-one")
def test_one_tool_can_be_checked_alone(repo: Place) -> None:
    shell(repo, GITNEXUS)
    shell(repo, C3)
    assert shell(repo, "scripts/bin/harness-cli tool check --name c3").code == 0
    found = records(repo, "--capability", "impact-analysis")
    assert (found["c3"]["status"], found["gitnexus"]["status"]) == ("missing", "unknown")


@requirement("registry:check-json")
def test_check_prints_json_for_agents(repo: Place) -> None:
    shell(repo, C3)
    (found,) = json.loads(shell(repo, "scripts/bin/harness-cli tool check --json").out)
    assert list(found) == ["name", "kind", "capability", "status", "detail"]
    assert (found["name"], found["status"]) == ("c3", "missing")


@requirement("registry:probe-command")
def test_a_command_is_present_when_it_resolves_and_can_run(repo: Place) -> None:
    repo.file("bin/tool", "#!/bin/sh\n", mode=0o755)
    repo.file("bin/text", "no program\n", mode=0o644)
    repo.run(register("on-path", "--command", "sh -c true"))
    repo.run(register("as-path", "--kind", "binary", "--command", "./bin/tool --flag"))
    repo.run(register("no-program", "--command", "./bin/text"))
    repo.run([*register("gone", "--command", "./bin/gone"), "--force"])
    assert checked(repo) == {"as-path": "present", "gone": "missing", "no-program": "missing", "on-path": "present"}


@requirement("registry:probe-path", "registry:equipped")
@pytest.mark.parametrize("kind", ["mcp", "skill"])
def test_a_server_or_a_skill_is_present_when_its_path_is_there(repo: Place, kind: str) -> None:
    repo.file(".equipped/started", "")
    repo.file("bin/server", f"#!/bin/sh\n: > '{repo.root}/was-run'\n", mode=0o755)
    repo.run(register("there", "--kind", kind, "--scan", ".equipped", "--command", "no-such-program"))
    repo.run(register("gone", "--kind", kind, "--scan", ".absent", "--command", "./bin/server"))
    assert checked(repo) == {"gone": "missing", "there": "present"}
    assert not (repo.root / "was-run").exists()


@requirement("registry:probe-http")
def test_an_endpoint_is_present_when_it_answers_else_when_its_path_is_there(repo: Place, endpoint: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closing:
        free = closing.getsockname()[1]
    directory(repo, "mounted")
    targets = {
        "live": f"http://127.0.0.1:{endpoint}/health?x=1#y",
        "dead": f"http://127.0.0.1:{free}/",
        "path": "mounted",
        "no-path": "unmounted",
    }
    for name, target in targets.items():
        repo.run(register(name, "--kind", "http", "--scan", target, "--command", "x"))
    assert checked(repo) == {"dead": "missing", "live": "present", "no-path": "missing", "path": "present"}


@requirement("registry:check-exit")
def test_a_missing_extension_is_a_fact_and_no_failure(repo: Place) -> None:
    shell(repo, C3)
    assert repo.run("tool check").code == 0
    assert repo.run("tool check --name nobody").code == 0
    assert repo.run("tool check --strict").code == 1


@requirement("registry:no-target")
def test_without_a_target_the_status_is_unknown(repo: Place) -> None:
    for kind in ("mcp", "skill", "http"):
        repo.run(register(kind, "--kind", kind, "--command", "x"))
    assert checked(repo) == {"http": "unknown", "mcp": "unknown", "skill": "unknown"}


@requirement("registry:lookup", "registry:providers", "registry:coupling")
def test_a_step_asks_for_a_capability_and_gets_the_set_of_its_providers(repo: Place) -> None:
    shell(repo, GITNEXUS)
    shell(repo, C3)
    directory(repo, ".c3")
    repo.run("tool check")
    listed = shell(repo, "scripts/bin/harness-cli query tools --capability impact-analysis").out
    assert [line.split()[0] for line in listed.splitlines()[2:]] == ["c3", "gitnexus"]
    present = shell(repo, "scripts/bin/harness-cli query tools --capability impact-analysis --status present").out
    assert [line.split()[0] for line in present.splitlines()[2:]] == ["c3"]


@requirement("registry:ladder")
def test_the_posture_follows_from_how_many_providers_are_present(repo: Place) -> None:
    def posture() -> str:
        found = repo.json("query tools --capability impact-analysis --posture")
        return str(found["posture"])

    assert posture() == "inactive"
    shell(repo, GITNEXUS)
    shell(repo, C3)
    repo.run("tool check")
    assert posture() == "degraded"
    directory(repo, ".c3")
    repo.run("tool check")
    assert posture() == "degraded"
    directory(repo, ".gitnexus")
    repo.run("tool check")
    assert posture() == "full"


@requirement("registry:kind-runtime")
def test_a_runtime_treats_a_kind_that_it_cannot_use_as_absent(repo: Place) -> None:
    shell(repo, C3)
    directory(repo, ".c3")
    repo.run("tool check")
    query = "query tools --capability impact-analysis --posture"
    assert repo.json(query)["posture"] == "full"
    assert repo.json(f"{query} --can cli,binary,skill,http")["posture"] == "full"
    assert repo.json(f"{query} --can cli,binary,http")["posture"] == "inactive"


@requirement("registry:validity-gate")
def test_a_registered_tool_that_is_missing_is_drift_and_an_inactive_capability_is_not(repo: Place) -> None:
    assert "Entropy score: 0/100" in repo.run("audit").out
    shell(repo, C3)
    assert "Entropy score: 0/100" in repo.run("audit").out
    repo.run("tool check")
    assert "Entropy score: 8/100" in repo.run("audit").out


@requirement("registry:inspect")
def test_the_registry_can_be_inspected_in_three_ways(repo: Place) -> None:
    shell(repo, DEPLOY)
    summary = shell(repo, "scripts/bin/harness-cli query tools --summary").out
    assert summary.split("\n")[0].split() == ["name", "kind", "capability", "responsibility", "status", "source"]
    assert "deploy-check" in summary
    everything = json.loads(shell(repo, "scripts/bin/harness-cli query tools --json").out)
    assert {"init", "deploy-check"} <= {each["name"] for each in everything}
    verifying = shell(repo, "scripts/bin/harness-cli query tools --responsibility Verification").out
    names = [line.split("  ")[0] for line in verifying.splitlines()[2:]]
    assert {"story verify", "story verify-all", "decision verify", "deploy-check"} <= set(names)
    assert not {"init", "query stats"} & set(names)


@requirement("registry:json-fields")
def test_json_records_carry_what_an_agent_needs(repo: Place) -> None:
    shell(repo, C3)
    for record in records(repo).values():
        assert {"kind", "capability", "scan_target", "status", "checked_at"} <= set(record)
        assert {"provider", "name", "command", "description", "args", "responsibility", "since"} <= set(record)


@requirement("registry:valid-name")
def test_a_name_is_registered_once(repo: Place) -> None:
    shell(repo, C3)
    again = shell(repo, C3)
    assert (again.code, again.out) == (1, "")
    assert "c3" in again.err


@requirement("registry:valid-description")
@pytest.mark.parametrize(("length", "code"), [(9, 1), (10, 0), (200, 0), (201, 1)])
def test_descriptions_have_10_to_200_characters(repo: Place, length: int, code: int) -> None:
    done = repo.run(register("x", "--command", "sh", description="  " + "é" * length + "  "))
    assert done.code == code
    if code == 0:
        assert records(repo)["x"]["description"] == "é" * length


@requirement("registry:valid-responsibility")
def test_a_responsibility_is_one_of_the_list(repo: Place) -> None:
    done = repo.run(register("x", "--command", "sh", responsibility="Quality"))
    assert done.code == 1
    assert "Intervention recording" in done.err


@requirement("registry:valid-args")
@pytest.mark.parametrize(
    "spec", ["env", "env:enum", "env:enum:maybe", ":enum:required", "env::required", "a:b:required,", "production"]
)
def test_arguments_that_are_not_declared_in_full_are_refused(repo: Place, spec: str) -> None:
    done = repo.run(register("x", "--command", "sh", "--args", spec))
    assert (done.code, done.out) == (1, "")
    assert "name:type:required" in done.err


@requirement("registry:valid-args")
def test_arguments_may_have_a_help_with_colons_and_commas(repo: Place) -> None:
    repo.run(register("x", "--command", "sh", "--args", "a:int:optional,b:url:required:like http://x:1, or a path"))
    assert records(repo)["x"]["args"] == [
        {"name": "a", "type": "int", "required": False, "help": ""},
        {"name": "b", "type": "url", "required": True, "help": "like http://x:1, or a path"},
    ]


def register(
    name: str, *options: str, description: str = "Something that helps", responsibility: str = "Verification"
) -> list[str]:
    words = ["tool", "register", "--name", name, "--description", description, "--responsibility", responsibility]
    return [*words, *options]
