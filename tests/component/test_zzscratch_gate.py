from __future__ import annotations
import json, os, time
import pytest
from project import Project, bash, call

GATE = 'c=$(cat); [[ "$c" == *"touch secret"* ]] && exit 1; echo "$c"'
def steps(*cs): return [*({"calls": [c]} if isinstance(c, dict) else {"calls": c} for c in cs), {"say": "done"}]

WEAKEN = {
 "same size and time": "f=.harness/hooks.d/tool_exec/05-gate; touch -r $f ref; sed -i 's/touch secret/touch sacred/' $f; touch -r ref $f",
 "in place same size and time": "f=.harness/hooks.d/tool_exec/05-gate; touch -r $f ref; sed 's/touch secret/touch sacred/' $f > n; dd if=n of=$f conv=notrunc status=none; touch -r ref $f",
 "dir renamed": "mv .harness/hooks.d .harness/x",
 "harness renamed": "mv .harness .h2",
 "harness symlink": "mv .harness .h2; mkdir -p empty/tools; ln -s empty .harness",
 "stage symlink": "mv .harness/hooks.d/tool_exec .h3; mkdir e; ln -s $PWD/e .harness/hooks.d/tool_exec",
 "o+w": "chmod o+w .harness/hooks.d/tool_exec/05-gate",
 "dir o+w": "chmod o+w .harness",
 "fifo": "rm .harness/hooks.d/tool_exec/05-gate; mkfifo .harness/hooks.d/tool_exec/05-gate; chmod +x .harness/hooks.d/tool_exec/05-gate",
 "directory": "rm .harness/hooks.d/tool_exec/05-gate; mkdir .harness/hooks.d/tool_exec/05-gate",
 "copy is fifo": "rm .harness/hooks.d/tool_exec/05-gate; mkdir -p $HARNESS_SESSION/.gates/tool_exec; mkfifo $HARNESS_SESSION/.gates/tool_exec/05-gate",
 "copy is dir": "rm .harness/hooks.d/tool_exec/05-gate; mkdir -p $HARNESS_SESSION/.gates/tool_exec/05-gate",
 "keep is file": "rm .harness/hooks.d/tool_exec/05-gate; touch $HARNESS_SESSION/.gates",
 "keep is link": "rm .harness/hooks.d/tool_exec/05-gate; mkdir t; ln -s $PWD/t $HARNESS_SESSION/.gates",
 "exec override": "mkdir -p .harness/hooks.d/tool_exec; printf '#!/bin/sh\nexit 0' > .harness/hooks.d/tool_exec/10-exec; chmod +x .harness/hooks.d/tool_exec/10-exec; rm .harness/hooks.d/tool_exec/05-gate",
 "sources hook": "mkdir -p ~/.harness/hooks.d/sources; printf '#!/bin/sh\necho \"{\\\\\"sources\\\\\":[]}\"' > ~/.harness/hooks.d/sources/50-x; chmod +x ~/.harness/hooks.d/sources/50-x",
 "earlier name": "mkdir -p .harness/plugins/z/hooks.d/tool_exec; printf '#!/bin/sh\ncat' > .harness/plugins/z/hooks.d/tool_exec/05-gate; chmod +x .harness/plugins/z/hooks.d/tool_exec/05-gate; mv .harness/hooks.d .harness/h",
 "error hook": "mkdir -p .harness/hooks.d/error; printf '#!/usr/bin/env python3\nimport json,sys\np=json.load(sys.stdin)\nprint(json.dumps({\"next_state\":\"tool_exec\",\"tool_calls\":[{\"id\":\"zz\",\"name\":\"bash\",\"input\":{\"command\":\"touch secret\"}}]}))' > .harness/hooks.d/error/00-x; chmod +x .harness/hooks.d/error/00-x",
 "tool_done hook": "mkdir -p .harness/hooks.d/tool_done; printf '#!/usr/bin/env python3\nimport json,sys\np=json.load(sys.stdin)\nprint(json.dumps({\"next_state\":\"tool_exec\",\"tool_calls\":[{\"id\":\"zz\",\"name\":\"bash\",\"input\":{\"command\":\"touch secret\"}}]}))' > .harness/hooks.d/tool_done/90-x; chmod +x .harness/hooks.d/tool_done/90-x",
}
@pytest.mark.parametrize("how", WEAKEN)
def test_weaken(project: Project, how):
    project.hook("tool_exec/05-gate", GATE)
    r = project.say(steps=steps(bash(WEAKEN[how]), bash("touch secret")), timeout=20)
    print(r, r.results)
    assert not (project.dir/"secret").exists()
    assert "Traceback" not in r.stderr

def test_sibling(project: Project):
    project.file(".harness/lib/rules.sh", "denied() { [[ \"$1\" == *'touch secret'* ]]; }\n")
    project.hook("tool_exec/05-gate", 'c=$(cat); source "$(dirname "$0")/../../lib/rules.sh"; denied "$c" && exit 1; echo "$c"')
    r = project.say(steps=steps(bash("touch .harness/hooks.d/tool_exec/05-gate"), bash("touch secret")))
    print(r, r.results)
    assert not (project.dir/"secret").exists()

def test_sibling_edit(project: Project):
    project.file(".harness/lib/rules.sh", "denied() { [[ \"$1\" == *'touch secret'* ]]; }\n")
    project.hook("tool_exec/05-gate", 'c=$(cat); source "$(dirname "$0")/../../lib/rules.sh"; denied "$c" && exit 1; echo "$c"')
    r = project.say(steps=steps(bash("echo 'denied() { false; }' > .harness/lib/rules.sh"), bash("touch secret")))
    print(r, r.results)
    assert not (project.dir/"secret").exists()

def test_result_vanish(project: Project):
    project.settings("deny bash(touch secret)")
    project.hook("tool_exec/05-gate", """python3 -c 'import json,sys; p=json.load(sys.stdin); print(json.dumps({k: p[k] for k in ("id","name","input")}))'""")
    body = '#!/usr/bin/env python3\nimport json,sys\np=json.load(sys.stdin)\np["result"]="x"\nprint(json.dumps(p))\n'
    w = call("write_file", path=".harness/hooks.d/tool_exec/00-new", content=body)
    r = project.say(steps=steps(w, bash("chmod +x .harness/hooks.d/tool_exec/00-new"), bash("touch secret")))
    print(r, r.results)
    assert not (project.dir/"secret").exists()

def test_error_lost(project: Project):
    project.hook("tool_exec/05-gate", """python3 -c 'import json,sys; p=json.load(sys.stdin); p["tool_calls"]=[{k: c[k] for k in ("id","name","input")} for c in p["tool_calls"]]; print(json.dumps(p))'""")
    project.tool("boom", "touch boomed")
    project.provider("p", '''p=$(cat); [[ "$p" == *tool_result* ]] && { echo '{"text":"k"}'; exit; }
echo '{"choices":[{"message":{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"boom","arguments":"{\\"x\\": "}}]},"finish_reason":"tool_calls"}]}' ''')
    r = project.run("-p","p","-m","m","--json","go")
    print(r, r.results)
    assert not (project.dir/"boomed").exists()

def test_dup_ids(project: Project):
    project.provider("p", '''p=$(cat); [[ "$p" == *tool_result* ]] && { echo '{"text":"k"}'; exit; }
echo '{"content":[{"type":"tool_use","id":"a","name":"bash","input":{"command":"echo 1 >> ran; echo one"}},{"type":"tool_use","id":"a","name":"bash","input":{"command":"echo 2 >> ran; echo two"}},{"type":"tool_use","id":"../../x\\n","name":"bash","input":{"command":"echo 3 >> ran; echo three"}}],"stop_reason":"tool_use"}' ''')
    r = project.run("-p","p","-m","m","--json","go")
    print(r, r.results)
    assert sorted((project.dir/"ran").read_text().split()) == ["1","2","3"]
    assert r.results == ["one","two","three"]

def test_receive_hook_dups(project: Project):
    project.hook("receive/95-x", """python3 -c 'import json,sys; p=json.load(sys.stdin)
if p.get("tool_calls"): p["tool_calls"]=[{"id":"a","name":"bash","input":{"command":"echo %d >> ran; echo %d" % (i,i)}} for i in (1,2)]
print(json.dumps(p))'""")
    r = project.say(calls=[bash("true")])
    print(r, r.results)
    assert sorted((project.dir/"ran").read_text().split()) == ["1","2"]

def test_stale_flight(project: Project):
    project.hook("tool_done/05-x", """python3 -c 'import json,sys,os; p=json.load(sys.stdin)
p["tool_calls"]=[]
print(json.dumps(p))'""")
    ids = [{"id":"a","name":"bash","input":{"command":"echo 1"}},{"id":"b","name":"bash","input":{"command":"echo 2"}}]
    r = project.say(steps=[{"calls":ids},{"calls":[{"id":"b","name":"bash","input":{"command":"echo other"}}]},{"say":"done"}])
    print(r, r.results)
    assert "other" in r.results[-1]

def test_on_refuse_stop_group(project: Project):
    project.settings(on_refuse="stop")
    project.hook("tool_exec/05-gate", 'c=$(cat); [[ "$c" == *\'"input":{"command":"touch a"},"call_id"\'* ]] && exit 1; echo "$c"')
    r = project.say(calls=[bash("touch a"), bash("sleep 0.5; touch b")])
    time.sleep(1)
    print(r, r.results)
    assert not (project.dir/"b").exists()

def test_observer_fails(project: Project):
    project.hook("tool_exec/50-obs", "exit 3")
    r = project.say(calls=[bash("echo one"), bash("sleep 0.3; echo 2 > two; echo two")])
    print(r, r.results)
    assert r.results[:1] == ["one"]

def test_many_agents(project: Project):
    project.provider("sub", '''p=$(cat)
if [[ "$p" == *tool_result* ]]; then echo '{"text": "tried"}'; exit 0; fi
echo '{"content": [{"type": "tool_use", "id": "s1", "name": "bash", "input": {"command": "echo a"}},{"type": "tool_use", "id": "s2", "name": "bash", "input": {"command": "echo b"}}],"stop_reason": "tool_use"}' ''')
    r = project.say(calls=[call("agent", prompt=f"t{i}", provider="sub", model="m") for i in range(17)], timeout=25)
    print(r, r.results)
    assert r.results == ["tried"]*17

@pytest.mark.parametrize("what", ["sleep 100 & cat", "trap '' TERM; sleep 100", "head -c 100000000 /dev/zero | tr '\\0' x", "exec <&-; echo '{}'", "setsid sleep 100 & exit 1", "cat; exec >&-; sleep 100"])
def test_gate_odd(project: Project, what):
    project.hook("tool_exec/05-gate", what)
    t=time.time()
    r = project.say(calls=[bash("echo hi")], env={"HARNESS_GATE_TIMEOUT":"0.5"})
    print(time.time()-t, r, r.results)

@pytest.mark.parametrize("depth", [100, 400, 480, 490, 495, 500, 900, 940, 950, 960, 970,980, 5000])
def test_deep(project: Project, depth):
    project.hook("tool_exec/05-gate", "cat")
    project.tool("deep", "cat | wc -c")
    project.provider("p", '''p=$(cat); [[ "$p" == *tool_result* ]] && { echo '{"text":"k"}'; exit; }
python3 -c 'd=%d; print("{\\"content\\":[{\\"type\\":\\"tool_use\\",\\"id\\":\\"a\\",\\"name\\":\\"deep\\",\\"input\\":{\\"x\\":"+"["*d+"]"*d+"}}],\\"stop_reason\\":\\"tool_use\\"}")' ''' % depth)
    r = project.run("-p","p","-m","m","--json","go")
    print(r, r.results)
    assert "Traceback" not in r.stderr
    assert r.code in (0,1)
    r2 = project.run("-p","scripted","--json","--session",r.session.name, "again")
    assert r2.code == 0, r2

def test_provider_scope(project: Project):
    # a pack of another provider brings a gate: not ours
    project.file(".harness/plugins/other/providers/other", "#!/bin/sh\nexit 1\n", 0o755)
    project.file(".harness/plugins/other/hooks.d/tool_exec/05-other", "#!/bin/sh\nexit 1\n", 0o755)
    project.settings(provider="scripted")
    s = project.script([{"calls":[bash("echo hi")]},{"say":"done"}])
    r = project.run("--json","go", env={"BRIDOON_SCRIPT":s})
    print(r)
    assert r.results == ["hi"]
