"""The registry of tools from the command line, with the lines of its documentation."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from ledgers import Place, harness_cli
from listeners import answering, silent

DEPLOY_CHECK = """scripts/bin/harness-cli tool register \\
  --name deploy-check \\
  --kind cli \\
  --capability deploy-verification \\
  --command ./scripts/deploy-check.sh \\
  --description "Verify deploy health before release" \\
  --responsibility Verification \\
  --args "env:enum:required:staging,production"
"""
EXAMPLES = """scripts/bin/harness-cli tool register --name gitnexus --kind mcp \\
  --capability impact-analysis --scan ".gitnexus" --command "mcp:gitnexus" \\
  --description "Code-graph blast radius" --responsibility Verification
scripts/bin/harness-cli tool register --name c3 --kind skill \\
  --capability impact-analysis --scan ".c3" --command "skill:c3" \\
  --description "Component model and drift audit (Claude skill)" \\
  --responsibility Verification
"""
REGISTER = "tool register --name {name} --command sh --description 'a tool of the tests' --responsibility verification"


def sh(place: Place, script: str) -> subprocess.CompletedProcess[str]:
    """Run lines of the documentation, from the root of the repository."""
    program = place.root / "scripts" / "bin" / "harness-cli"
    if not program.exists():
        program.parent.mkdir(parents=True, exist_ok=True)
        program.symlink_to(harness_cli())
    return subprocess.run(
        ["sh", "-ec", script], cwd=place.root, env=place.env, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def equipped(ledger: Place) -> Place:
    """The repository of the examples, in which gitnexus is there and c3 is not."""
    ledger.file("scripts/deploy-check.sh", "#!/bin/sh\ntouch ran\n", 0o755)
    (ledger.root / ".gitnexus").mkdir()
    done = sh(ledger, DEPLOY_CHECK + EXAMPLES)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "Tool deploy-check registered.\nTool gitnexus registered.\nTool c3 registered.\n"
    return ledger


def test_the_example_registers_one_argument_with_two_choices(equipped: Place) -> None:
    done = sh(equipped, "scripts/bin/harness-cli query tools --json")
    (tool,) = [each for each in json.loads(done.stdout) if each["name"] == "deploy-check"]
    assert list(tool) == [
        "provider", "name", "command", "description", "args", "responsibility", "source", "since", "kind",
        "capability", "scan_target", "status", "checked_at",
    ]  # fmt: skip
    assert tool["args"] == [{"name": "env", "type": "enum", "required": True, "help": "staging,production"}]
    assert tool == tool | {
        "provider": "custom",
        "command": "./scripts/deploy-check.sh",
        "responsibility": "Verification",
        "source": "registered",
        "since": "registered",
        "kind": "cli",
        "capability": "deploy-verification",
        "scan_target": None,
        "status": "unknown",
        "checked_at": None,
    }
    assert equipped.value("SELECT args FROM tool WHERE name='deploy-check'") == (
        '[{"name":"env","type":"enum","required":true,"help":"staging,production"}]'
    )


def test_a_check_reports_and_persists_what_is_there(equipped: Place) -> None:
    done = sh(equipped, "scripts/bin/harness-cli tool check")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[:4] for line in done.stdout.splitlines()] == [
        ["name", "kind", "capability", "status"],
        ["-" * 12, "-" * 5, "-" * 19, "-" * 7],
        ["c3", "skill", "impact-analysis", "missing"],
        ["deploy-check", "cli", "deploy-verification", "present"],
        ["gitnexus", "mcp", "impact-analysis", "present"],
    ]
    assert equipped.sql("SELECT name, status FROM tool WHERE checked_at IS NOT NULL ORDER BY name") == [
        ("c3", "missing"), ("deploy-check", "present"), ("gitnexus", "present"),
    ]  # fmt: skip
    assert not (equipped.root / "ran").exists()


def test_one_tool_is_checked_and_programs_get_a_list(equipped: Place) -> None:
    done = sh(equipped, "scripts/bin/harness-cli tool check --name c3; scripts/bin/harness-cli tool check --json")
    table, _, listed = done.stdout.partition("[\n")
    assert "gitnexus" not in table
    assert json.loads("[" + listed)[0] == {
        "name": "c3",
        "kind": "skill",
        "capability": "impact-analysis",
        "status": "missing",
        "detail": ".c3 (there is no such path)",
    }


def test_providers_are_looked_up_by_their_capability(equipped: Place) -> None:
    sh(equipped, "scripts/bin/harness-cli tool check")
    both = sh(equipped, "scripts/bin/harness-cli query tools --capability impact-analysis")
    assert [line.split()[0] for line in both.stdout.splitlines()[2:]] == ["c3", "gitnexus"]
    assert both.stdout.split()[:6] == ["name", "kind", "capability", "responsibility", "status", "source"]
    some = sh(equipped, "scripts/bin/harness-cli query tools --capability impact-analysis --status present")
    assert [line.split()[0] for line in some.stdout.splitlines()[2:]] == ["gitnexus"]


def test_the_registry_is_inspected(equipped: Place) -> None:
    summary = sh(equipped, "scripts/bin/harness-cli query tools --summary").stdout
    assert summary == equipped.ok("query tools")
    rows = [line.split("  ")[0].strip() for line in summary.splitlines()[2:]]
    assert rows[0] == "init"
    assert rows[-3:] == ["c3", "deploy-check", "gitnexus"]
    verification = sh(equipped, "scripts/bin/harness-cli query tools --responsibility Verification --json")
    found = {each["name"]: each for each in json.loads(verification.stdout)}
    assert set(found) >= {"story verify", "story verify-all", "decision verify", "c3", "deploy-check", "gitnexus"}
    assert {each["responsibility"] for each in found.values()} == {"Verification"}
    assert (found["story verify"]["kind"], found["story verify"]["status"]) == ("builtin", "present")


def test_compiled_entries_are_present_and_have_no_capability(equipped: Place) -> None:
    listed = equipped.json("query tools --status present")
    assert {each["source"] for each in listed} == {"compiled"}
    assert equipped.json("query tools --capability impact-analysis --status unknown")[0]["name"] == "c3"


def test_a_tool_is_removed_once(equipped: Place) -> None:
    done = sh(equipped, "scripts/bin/harness-cli tool remove --name deploy-check")
    assert done.stdout == "Tool deploy-check removed.\n"
    again = equipped.run("tool remove --name deploy-check")
    assert (again.code, again.out) == (1, "")
    assert "deploy-check" in again.err


def test_the_ladder_is_inactive_degraded_and_full(equipped: Place) -> None:
    ask = "query tools --capability impact-analysis --posture"
    equipped.ok("tool check")
    assert "Posture of coverage: inactive" in equipped.ok("query tools --capability coverage --posture")
    said = equipped.ok(ask)
    assert "Posture of impact-analysis: degraded (1 of 2 present)" in said
    assert "Weak proof: impact-analysis (1 of 2 present; missing c3)" in said
    found = equipped.json(ask)
    assert (found["posture"], found["providers"]) == ("degraded", 2)
    assert [[each["name"] for each in found[status]] for status in ("present", "missing", "unknown", "unusable")] == [
        ["gitnexus"], ["c3"], [], [],
    ]  # fmt: skip
    (equipped.root / ".c3").mkdir()
    equipped.ok("tool check")
    assert "Posture of impact-analysis: full (2 of 2 present)" in equipped.ok(ask)
    assert equipped.json(ask + " --can cli,skill")["providers"] == 1
    assert "impact-analysis: inactive" in equipped.ok(ask + " --can cli,binary,http")


def test_posture_and_can_need_what_they_are_about(ledger: Place) -> None:
    assert ledger.run("query tools --posture").code == 2
    assert ledger.run("query tools --capability x --can cli").code == 2
    assert ledger.run("query tools --capability x --posture --can sorcery").code == 1


def test_strict_tells_by_the_exit_code(equipped: Place) -> None:
    assert equipped.run("tool check --strict").code == 1
    assert equipped.run("tool check --strict --name gitnexus").code == 0
    (equipped.root / ".c3").mkdir()
    assert equipped.run("tool check --strict --json").code == 0
    assert equipped.run("tool check --strict --name nobody").code == 1


def test_an_unknown_name_is_an_empty_result(equipped: Place) -> None:
    ran = equipped.run("tool check --name nobody --json")
    assert (ran.code, ran.out) == (0, "[\n]\n")
    ran = equipped.run("tool check --name nobody")
    assert (ran.code, len(ran.lines)) == (0, 2)


def test_a_status_that_no_tool_has_is_said_on_standard_error(equipped: Place) -> None:
    ran = equipped.run("query tools --status absent")
    assert (ran.code, len(ran.lines)) == (0, 2)
    assert "absent" in ran.err
    assert equipped.run("query tools --status ' Present '").err == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--kind sorcery --capability 'x y!' --responsibility none", "--kind"),
        ("--kind ' CLI ' --capability 'x  y' --responsibility none", "capability"),
        ("--responsibility none --args x", "responsibility"),
        ("--args x --description short", "'x'"),
        ("--description '  123456789  '", "10 to 200"),
        ("--description %s" % ("é" * 201), "10 to 200"),
        ("--command ./absent", "there is no such path"),
        ("--command scripts", "not on PATH"),
        ("--command ./scripts", "a directory"),
        ('--command "./it\'s"', "left open"),
        ("--command ''", "must name a program"),
        ("--command ' ' --force", "must name a program"),
        ("--name ' '", "must not be blank"),
        ("--name 'a\nb'", "cannot name a tool"),
        ("--name %s" % ("x" * 1000), "cannot name a tool"),
    ],
)
def test_what_cannot_be_registered_is_refused_in_the_known_order(ledger: Place, options: str, said: str) -> None:
    ledger.file("scripts/x", "")
    default = {
        "--name": "t",
        "--command": "sh",
        "--description": "a tool of the tests",
        "--responsibility": "Verification",
    }
    import shlex

    words = shlex.split(options)
    for option, value in default.items():
        if option not in words:
            words += [option, value]
    ran = ledger.run(["tool", "register", *words])
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err
    assert ledger.value("SELECT count(*) FROM tool") == 0


def test_what_is_stored_is_normalised(ledger: Place) -> None:
    ledger.ok(
        "tool register --name t --command '  sh -c x ' --description '  two words here  ' --responsibility tool-access "
        "--kind ' Binary ' --capability 'Impact_Analysis' --scan ' ~/x '"
    )
    assert ledger.sql("SELECT command, description, responsibility, kind, capability, scan_target, args FROM tool") == [
        ("  sh -c x ", "two words here", "Tool access", "binary", "impact-analysis", "~/x", None)
    ]


def test_force_registers_what_is_absent_and_other_kinds_need_none(ledger: Place) -> None:
    for kind, command, more in (
        ("cli", "./absent", "--force"),
        ("mcp", "mcp:x", ""),
        ("skill", "", ""),
        ("http", "x'", ""),
    ):
        ledger.run(
            ["tool", "register", "--name", kind, "--kind", kind, f"--command={command}", "--description", "a tool of tests",
             "--responsibility", "Verification", *more.split()]
        )  # fmt: skip
    assert ledger.sql("SELECT name FROM tool ORDER BY name") == [("cli",), ("http",), ("mcp",), ("skill",)]


def test_a_file_without_execute_permission_can_be_registered_and_is_missing(ledger: Place) -> None:
    ledger.file("check.sh", "#!/bin/sh\n")
    ledger.ok(REGISTER.format(name="t").replace("--command sh", "--command ./check.sh"))
    assert ledger.json("tool check")[0]["detail"] == "./check.sh (not executable)"


def test_a_taken_name_shows_its_command_and_a_race_has_one_winner(ledger: Place) -> None:
    running = [ledger.start(REGISTER.format(name="t")) for _ in range(6)]
    ended = [(*process.communicate(timeout=60), process.returncode) for process in running]
    assert sorted(code for _, _, code in ended) == [0, 1, 1, 1, 1, 1]
    for _, said, code in ended:
        assert code == 0 or b"registered already" in said
        assert b"UNIQUE" not in said
    assert "'sh'" in ledger.run(REGISTER.format(name="t")).err


def test_a_tool_called_like_a_command_is_listed_beside_it(ledger: Place) -> None:
    ran = ledger.run(REGISTER.format(name="audit"))
    assert (ran.code, "audit" in ran.err) == (0, True)
    assert [each["source"] for each in ledger.json("query tools") if each["name"] == "audit"] == [
        "compiled",
        "registered",
    ]


def test_programs_get_the_names_back(ledger: Place) -> None:
    assert ledger.json(REGISTER.format(name="t")) == {
        "name": "t", "kind": "cli", "capability": None, "status": "unknown",
    }  # fmt: skip
    assert ledger.error(REGISTER.format(name="t"))[1]["code"] == "CONFLICT"
    assert ledger.json("tool remove --name t") == {"name": "t"}
    assert ledger.error("tool remove --name t")[1]["code"] == "NOT_FOUND"


def test_registrations_checks_and_removals_are_logged(ledger: Place) -> None:
    env = {"HARNESS_RUN_ID": "r"}
    ledger.ok(REGISTER.format(name="t"), env=env)
    ledger.ok("tool check", env=env)
    ledger.ok("tool remove --name t", env=env)
    lines = ledger.changeset("r")
    assert [(line["op"], line.get("id")) for line in lines[1:]] == [
        ("tool.register", "t"), ("tool.check", "t"), ("tool.remove", "t"),
    ]  # fmt: skip
    assert lines[2]["payload"].keys() >= {"status", "detail"}


def test_hostile_rows_break_neither_tables_nor_json(ledger: Place) -> None:
    for name, kind, capability, args, status in (
        ("\x1b[31mred", "sorcery", "\x07", '[{"name":"a\tb"}]', "per\nhaps"),
        ("a\tb", "http", "x\0y", "[" * 50_000, "present"),
        ("long" * 250_000, "k" * 1_000_000, "c" * 1_000_000, "x" * 1_000_000, "s" * 1_000_000),
        ("", "", "", "", ""),
    ):
        ledger.sql(
            "INSERT INTO tool (name, kind, capability, args, status, command, description, responsibility, scan_target) "
            "VALUES (?, ?, ?, ?, ?, 'x', ?, ?, ?)",
            name, kind, capability, args, status, "tab\there \"quoted\"", "new\nline", "http://" + "\x1b" * 9,
        )  # fmt: skip
    ledger.sql(
        "INSERT INTO tool (name, command, description, responsibility) VALUES ('b', CAST(x'ff' AS TEXT), x'00', 7)"
    )
    for command in ("query tools", "tool check", "query tools --capability x --posture"):
        ran = ledger.run(command)
        assert ran.code == 0, ran.err
        assert all(char.isprintable() or char == "\n" for char in ran.out)
        assert len(ran.out) < 300_000
        assert ledger.run(command + " --json").value
    assert [each["description"] for each in ledger.json("query tools") if each["name"] == "a\tb"] == [
        'tab\there "quoted"'
    ]


def test_without_a_ledger_there_is_nothing_to_check(bare: Place) -> None:
    ran = bare.run("tool check")
    assert (ran.code, ran.out) == (1, "")
    assert "init" in ran.err


def test_a_check_of_dead_endpoints_ends_in_time_and_holds_no_lock(ledger: Place) -> None:
    with silent() as quiet, answering() as (server, port), ledger.open() as db:
        for name, number in (("dead", quiet), ("alive", port)):
            ledger.ok(
                REGISTER.format(name=name) + f" --kind http --capability health --scan http://127.0.0.1:{number}/health"
            )
        db.execute("BEGIN IMMEDIATE")
        checking = ledger.start("tool check --json")
        server.settimeout(20)
        server.accept()[0].close()
        db.execute("ROLLBACK")
        out, _ = checking.communicate(timeout=30)
    assert {each["name"]: each["status"] for each in json.loads(out)} == {"alive": "present", "dead": "missing"}


def test_the_home_of_a_scan_target_is_that_of_the_environment(ledger: Place, tmp_path: Path) -> None:
    skill = tmp_path / "elsewhere" / ".claude" / "skills" / "c3"
    os.makedirs(skill)
    ledger.ok(REGISTER.format(name="c3") + " --kind skill --scan ~/.claude/skills/c3")
    assert ledger.json("tool check")[0]["status"] == "missing"
    assert ledger.json("tool check", env={"HOME": str(tmp_path / "elsewhere")})[0]["status"] == "present"
