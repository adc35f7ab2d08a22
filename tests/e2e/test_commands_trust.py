"""`hs trust` and `hs untrust` through the installed `hs`, in real git checkouts."""

from __future__ import annotations

import json
import subprocess

from project import Project


def commit(project: Project) -> None:
    """Put what lies in the project under version control, as if it had been cloned."""
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"],
    ):
        subprocess.run(["git", *words], cwd=project.dir, env=project.env, check=True)


def checkout(project: Project) -> None:
    """A project with a tool, a hook and settings that came with a checkout."""
    project.tool("evil", "touch ran")
    project.hook("start/50-evil", "touch ran; cat")
    project.settings(provider="groq")
    commit(project)


def test_a_checkout_is_not_trusted_and_the_listing_says_so(project: Project) -> None:
    checkout(project)
    result = project.run("tools")
    assert "  evil " not in result.stdout
    assert f"{project.harness}: not trusted: it is in git's index, so it may have come with a checkout" in result.stdout
    assert not (project.dir / "ran").exists()


def test_trust_lists_what_would_run_then_records_it(project: Project) -> None:
    checkout(project)
    result = project.run("trust")
    assert result.code == 0
    shown = result.stdout.splitlines()
    assert shown[0] == f"{project.harness} holds:"
    assert {"  tools/evil", "  hooks.d/start/50-evil", "  settings.conf"} <= set(shown)
    assert shown[-1] == f"trusted: {project.harness}"
    assert "  evil " in project.run("tools").stdout


def test_a_dry_run_records_nothing(project: Project) -> None:
    checkout(project)
    assert "  tools/evil" in project.run("trust", "--dry-run").stdout
    assert "  evil " not in project.run("tools").stdout


def test_trust_takes_the_directory_or_the_one_that_holds_it(project: Project) -> None:
    checkout(project)
    for place in (str(project.dir), str(project.harness)):
        process = project.start("trust", place, cwd=project.home)
        out, _ = process.communicate(timeout=10)
        assert str(project.harness).encode() in out
    assert f"{project.harness} is trusted already" in project.run("trust", str(project.dir)).stdout


def test_names_in_a_checkout_cannot_disturb_the_terminal_that_shows_them(project: Project) -> None:
    project.tool("x\x1b[2K\rharmless", "echo")
    commit(project)
    shown = project.run("trust").stdout
    assert "\x1b" not in shown
    assert "\r" not in shown


def test_trust_where_nothing_waits_says_so(project: Project) -> None:
    assert project.run("trust").stdout == "nothing here waits for trust\n"


def test_trust_of_a_directory_without_harness_is_an_error(project: Project) -> None:
    (project.dir / "src").mkdir()
    result = project.run("trust", "src")
    assert result.code == 1
    assert "there is no .harness directory in" in result.stderr


def test_the_home_is_never_a_matter_of_trust(project: Project) -> None:
    (project.home / ".harness").mkdir()
    assert project.run("trust", str(project.home)).code == 2
    assert project.run("untrust", str(project.home)).code == 2


def test_list_shows_what_is_recorded_and_what_waits(project: Project) -> None:
    assert project.run("trust", "--list").stdout.splitlines()[0].split()[0] == "own"
    checkout(project)
    (project.home / ".harness" / "trusted").unlink()
    assert project.run("trust", "--list").stdout.split() == ["asks", str(project.harness)]
    project.run("trust")
    [record] = json.loads(project.run("trust", "--list", "--json").stdout)["records"]
    assert (record["path"], record["state"]) == (str(project.harness), "granted")


def test_untrust_takes_it_back(project: Project) -> None:
    checkout(project)
    project.run("trust")
    assert project.run("untrust").stdout == f"not trusted any more: {project.harness}\n"
    assert "  evil " not in project.run("tools").stdout
    assert "revoked" in project.run("trust", "--list").stdout


def test_untrust_of_what_was_never_in_git_counts_as_well(project: Project) -> None:
    project.tool("mine", "echo")
    assert "  mine " in project.run("tools").stdout
    project.run("untrust", str(project.dir))
    assert "  mine " not in project.run("tools").stdout
    project.run("trust")
    assert "  mine " in project.run("tools").stdout


def test_untrust_where_nothing_is_trusted_is_an_error(project: Project) -> None:
    checkout(project)
    result = project.run("untrust")
    assert result.code == 1
    assert "no trusted .harness directory here" in result.stderr


def test_trust_that_cannot_be_recorded_fails_and_says_why(project: Project) -> None:
    checkout(project)
    blocked = project.home / "file"
    blocked.write_text("")
    result = project.run("trust", env={"HARNESS_HOME": str(blocked)})
    assert result.code == 1
    assert "cannot write" in result.stderr
    assert "trusted:" not in result.stdout
