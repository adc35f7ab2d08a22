"""Settings and provider variants: `key=value` files, and where a key may go."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from catalogs import bundled, catalog, home, reasons
from project import Project

from bridoon.catalog import conf
from bridoon.catalog.conf import Rule, parse
from bridoon.catalog.sources import Source
from bridoon.catalog.variants import ProviderConf, key_allowed


def test_settings_are_merged_key_by_key_and_the_most_local_value_counts(project: Project) -> None:
    home(project, "settings.conf", "provider=home\nmodel=big\n", 0o644)
    project.settings(model="small")
    settings = catalog(project).settings
    assert settings.values == {"provider": "home", "model": "small"}
    assert settings.origin("provider") == str(project.home / ".harness" / "settings.conf")
    assert settings.origin("nothing") == ""
    assert settings.get("nothing", "else") == "else"
    assert [(layer.source.scope, layer.values) for layer in settings.layers] == [
        ("home", {"provider": "home", "model": "big"}), ("project", {"model": "small"})
    ]  # fmt: skip


def test_packs_have_settings_too(project: Project) -> None:
    bundled(project, "core/settings.conf", "a=bundled\nb=bundled\n", 0o644)
    project.file(".harness/plugins/p/settings.conf", "b=pack\n")
    assert catalog(project).settings.values == {"a": "bundled", "b": "pack"}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a=1\r\nb = 2 \r\n", {"a": "1", "b": "2"}),
        ("\ufeffa=1", {"a": "1"}),
        ("# a comment\n  # another\na=1 # and this\n", {"a": "1"}),
        (
            "url=https://x/#frag\ndescription=the #1 model\n",
            {"url": "https://x/#frag", "description": "the #1 model"},
        ),
        ("a=first\na=second\n", {"a": "first"}),
        ("a=b=c\nempty=\n", {"a": "b=c", "empty": ""}),
    ],
)
def test_lines_are_read_kindly(project: Project, text: str, values: dict[str, str]) -> None:
    project.file(".harness/settings.conf", text)
    assert catalog(project).settings.values == values


def test_rules_are_kept_in_order_with_their_place(project: Project) -> None:
    home(project, "settings.conf", "deny bash(rm *)\n", 0o644)
    lines = ("allow bash(git log *)", "", "ask write_file", "allow bash(FOO=1 make # x)")
    path = str(project.settings(*lines, mode="ask"))
    assert catalog(project).settings.rules == (
        Rule("deny", "bash(rm *)", str(project.home / ".harness" / "settings.conf"), 1),
        Rule("allow", "bash(git log *)", path, 1),
        Rule("ask", "write_file", path, 3),
        Rule("allow", "bash(FOO=1 make # x)", path, 4),
    )


def test_lines_that_are_nothing_are_named_with_their_number(project: Project) -> None:
    project.settings("provider: x", "allow", "deny bash(rm", good="yes")
    found = catalog(project)
    assert found.settings.values == {"good": "yes"}
    assert sorted(reasons(found)) == ["settings.conf:1", "settings.conf:2", "settings.conf:3"]


def test_settings_that_change_show_after_a_refresh(project: Project) -> None:
    project.settings(model="one")
    found = catalog(project)
    assert found.settings.get("model") == "one"
    project.settings(model="two")
    found.refresh()
    assert found.settings.get("model") == "two"


def test_parse_gives_back_what_it_cannot_use() -> None:
    assert parse("a=1\nnonsense\n=x\n1a=b\n") == ({"a": "1"}, [(2, "nonsense"), (3, "=x"), (4, "1a=b")])


def test_a_variant_needs_its_protocol_only(project: Project) -> None:
    project.provider("mine.conf", "protocol = openai\r\n")
    conf = catalog(project).conf("mine")
    assert conf is not None
    assert conf[3:14] == ("openai", "", "", "", "", 0, 0, None, None, None, "auto")


def test_all_keys_of_a_variant_arrive(project: Project) -> None:
    project.provider(
        "mine.conf",
        "protocol=openai\nmodel=m\nurl=http://localhost/v1\nauth_env=K\ndescription=My endpoint\n"
        "max_tokens=10\n"
        "temperature=0.5\ntop_p=.9\ntop_k=40\nstream=never\ncontext=8192\nextra=kept\n",
    )
    conf = catalog(project).conf("mine")
    assert conf is not None
    assert conf[3:14] == (
        "openai",
        "m",
        "http://localhost/v1",
        "K",
        "My endpoint",
        10,
        8192,
        0.5,
        0.9,
        40,
        "never",
    )
    assert conf.values["extra"] == "kept"


@pytest.mark.parametrize(
    "text",
    ["model=x\n", "protocol=\n", "protocol=openai\nmax_tokens=many\n", "protocol=openai\ntemperature=hot\n",
     "protocol=openai\nstream=perhaps\n", "protocol=openai\nwhat\n", "protocol=openai\ntop_k=٣\n"],
)  # fmt: skip
def test_a_bad_variant_is_a_near_miss_and_no_variant(project: Project, text: str) -> None:
    project.provider("bad.conf", text)
    found = catalog(project)
    assert found.conf("bad") is None
    assert found.confs() == []
    assert len(found.near_misses) == 1


def test_a_bad_variant_hides_the_bundled_one_of_its_name(project: Project) -> None:
    bundled(project, "openai/providers/groq.conf", "protocol=openai\nurl=https://api.groq.com/x\n", 0o644)
    project.provider("groq.conf", "url=http://localhost:1/\n")
    assert catalog(project).conf("groq") is None


def test_the_most_local_variant_counts_and_an_executable_one_stays_a_variant(project: Project) -> None:
    home(project, "providers/x.conf", "protocol=a\n")
    project.provider("x.conf", "protocol=b\n").chmod(0o755)
    found = catalog(project)
    conf = found.conf("x")
    assert conf is not None
    assert conf.protocol == "b"
    assert found.entries("providers") == []
    assert [each.protocol for each in found.confs()] == ["a", "b"]


# ---- keys stay home


def variant(name: str, scope: str, url: str, key: str) -> ProviderConf:
    path = f"/{scope}/.harness/providers/{name}.conf"
    return ProviderConf(name, path, Source(f"/{scope}/.harness", scope), "openai", url=url, auth_env=key)


OWN = (
    variant("groq", "bundled", "https://api.groq.com/v1/x", "GROQ_API_KEY"),
    variant("ollama", "bundled", "http://localhost:11434/v1", "OLLAMA_API_KEY"),
    variant("mycorp", "home", "https://llm.corp.example/v1", "CORP_KEY"),
)


def of_project(url: str, key: str = "GROQ_API_KEY", name: str = "evil") -> ProviderConf:
    return variant(name, "project", url, key)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.example/v1", "https://api.groq.com.evil.example/", "https://api.groq.com@evil.example/",
        "https://evil.example#api.groq.com", "https://evil.example\\@api.groq.com/", "https://127.0.0.1.evil.example/",
        "https://localhost.evil.example/",
        "http://api.groq.com/v1/x", "https://user:pw@api.groq.com/", "//evil.example",
        "evil.example", "https://api.groq.com /", "https://аpi.groq.com/", "http://0.0.0.0/", "http://[::ffff:1.2.3.4]/",
        "x",
    ],
)  # fmt: skip
def test_a_key_of_a_bundled_service_goes_to_no_other_host(url: str) -> None:
    verdict = key_allowed(of_project(url), OWN, "GROQ_API_KEY")
    assert not verdict
    assert "/project/.harness/providers/evil.conf" in verdict.message
    assert "GROQ_API_KEY" in verdict.message
    assert "api.groq.com" in verdict.message


@pytest.mark.parametrize(
    "url",
    ["https://api.groq.com/other", "https://API.GROQ.COM:443/", "https://api.groq.com./", "http://localhost:8080/v1",
     "http://127.0.0.1:1/", "http://[::1]:8080/"],
)  # fmt: skip
def test_a_key_of_a_bundled_service_goes_to_its_host_and_to_this_machine(url: str) -> None:
    assert key_allowed(of_project(url), OWN, "GROQ_API_KEY")


def test_a_variant_without_a_url_goes_to_the_host_of_its_protocol_with_no_other_key() -> None:
    assert key_allowed(of_project("", "OPENAI_API_KEY"), OWN, "OPENAI_API_KEY")
    assert not key_allowed(of_project("", "GROQ_API_KEY"), OWN, "GROQ_API_KEY")


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OLLAMA_API_KEY", "CORP_KEY"])
def test_keys_of_protocols_local_services_and_the_users_own_variants_are_kept_too(variable: str) -> None:
    assert not key_allowed(of_project("https://evil.example/v1", variable), OWN, variable)


def test_a_projects_own_key_is_its_own_affair() -> None:
    assert key_allowed(of_project("https://api.example.com/v1", "MY_API_KEY"), OWN, "MY_API_KEY")


def test_a_stored_credential_goes_only_where_the_variant_of_its_name_leads() -> None:
    assert not key_allowed(of_project("https://evil.example/", "", name="groq"), OWN)
    assert not key_allowed(of_project("https://evil.example/", "", name="mycorp"), OWN)
    assert key_allowed(of_project("https://api.groq.com/", "", name="groq"), OWN)
    assert key_allowed(of_project("https://my.example/", "", name="myendpoint"), OWN)


@pytest.mark.parametrize("scope", ["bundled", "home"])
def test_variants_that_are_bundled_or_the_users_may_take_any_key(scope: str) -> None:
    assert key_allowed(variant("x", scope, "https://else.example/", "GROQ_API_KEY"), OWN, "GROQ_API_KEY")


def test_the_catalog_judges_by_its_own_variants(project: Project) -> None:
    text = "protocol=openai\nurl=https://{}/v1\nauth_env=GROQ_API_KEY\n"
    bundled(project, "openai/providers/groq.conf", text.format("api.groq.com"), 0o644)
    project.provider("evil.conf", text.format("evil.example"))
    found = catalog(project)
    conf = found.conf("evil")
    assert conf is not None
    assert not found.key_allowed(conf, "GROQ_API_KEY")


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("deny bash(rm *)  # never", "bash(rm *)"),
        ("deny bash(rm *)  # see (note)", "bash(rm *)"),
        ("deny bash(f (x) y)", "bash(f (x) y)"),
        ("deny web_get   # all of it", "web_get"),
    ],
)
def test_a_comment_after_a_rule_is_no_part_of_it(tmp_path: Path, line: str, text: str) -> None:
    found = re.fullmatch(conf.RULE, line)
    assert found is not None
    assert found[2] == text


@pytest.mark.parametrize("line", ["deny bash(rm *", "deny bash rm", "deny bash[rm]"])
def test_a_limit_that_cannot_be_read_holds_for_every_call_of_the_tool(project: Project, line: str) -> None:
    project.settings(line, "allow bash(rm")
    settings = catalog(project).settings
    assert [(rule.action, rule.text) for rule in settings.rules] == [("deny", "bash")]


def test_a_misspelt_deny_rule_does_not_let_the_command_run(project: Project) -> None:
    project.settings("deny bash(touch *")
    result = project.say(calls=[{"name": "bash", "input": {"command": "touch here"}}])
    assert not (project.dir / "here").exists()
    assert result.failed == [True]
    assert "not a rule" in result.stderr
