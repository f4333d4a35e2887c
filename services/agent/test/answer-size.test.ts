import test, { type ExecutionContext } from 'ava';
import { say, workflow } from '../src/workflow/testing/workflows.ts';
import { type AgentUnit, agentUnit, createAgent, inTenant } from './agent-unit.ts';
import { workflowsOf } from './workflow-unit.ts';

const owner = inTenant(1);
const persona = 'ü'.repeat(2_000); // 4,000 bytes in UTF-8
const limits = { AGENT_MAX_ANSWER_BYTES: '30000' };

const refused = {
  message: 'The answer is too large; ask for less at a time',
  extensions: { code: 'BAD_REQUEST', statusCode: 400, reason: 'ANSWER_TOO_LARGE' },
};

/** Creates six agents in a unit whose answer budget has room for seven of their personas. */
async function sixAgents(t: ExecutionContext): Promise<{ unit: AgentUnit; ids: number[] }> {
  const unit = await agentUnit(t, limits);
  const ids: number[] = [];
  for (let n = 0; n < 6; n += 1) ids.push((await createAgent(unit, owner, { personaPrompt: persona })).id);
  return { unit, ids };
}

test('a list that exceeds the answer budget is refused, aliases included', async (t) => {
  const { unit, ids } = await sixAgents(t);
  const { data } = await unit.graph(owner, '{ agents { id personaPrompt } }');
  t.deepEqual(
    data?.['agents'],
    ids.map((id) => ({ id, personaPrompt: persona })),
  );
  for (const query of [
    '{ a: agents { personaPrompt } b: agents { personaPrompt } }',
    '{ a: agents(first: 6) { personaPrompt } b: agents(first: 5) { personaPrompt } }',
    '{ agents { a: personaPrompt b: personaPrompt } }',
  ]) {
    const { data: none, errors } = await unit.graph(owner, query);
    t.falsy(none, query);
    t.like(errors, { 0: refused, length: 1 }, query);
  }
});

test('only selected fields count towards the answer budget', async (t) => {
  const { unit, ids } = await sixAgents(t);
  const query = `{ ${Array.from({ length: 10 }, (_, n) => `a${n}: agents { id name }`).join(' ')} }`;
  const { data } = await unit.graph(owner, query);
  t.deepEqual(
    data?.['a9'],
    ids.map((id) => ({ id, name: 'Ada' })),
  );
  const page = await unit.graph(owner, `{ agents(first: 2, after: ${ids[1]}) { id personaPrompt } }`);
  t.like(page.data?.['agents'], { 0: { id: ids[2] }, 1: { id: ids[3] }, length: 2 });
});

test('entity references count towards the answer budget, repeated ones each time', async (t) => {
  const { unit, ids } = await sixAgents(t);
  const query =
    'query ($keys: [_Any!]!) { _entities(representations: $keys) { ... on AgentDto { id personaPrompt } } }';
  const named = (some: number[]) => ({ keys: some.map((id) => ({ __typename: 'AgentDto', id })) });
  const { data } = await unit.graph(owner, query, named(ids));
  t.like(data?.['_entities'], { 0: { id: ids[0], personaPrompt: persona }, length: 6 });

  // The agent is read as one row, but the response repeats it eight times.
  const often = await unit.graph(owner, query, named(Array.from({ length: 8 }, () => ids[0] ?? 0)));
  t.falsy(often.data);
  t.like(often.errors, { 0: refused, length: 1 });
});

test('an audit log that exceeds the answer budget is refused', async (t) => {
  const { unit, ids } = await sixAgents(t);
  const [id] = ids;
  const change = `mutation ($persona: String) { updateAgent(id: ${id}, input: { personaPrompt: $persona }) { id } }`;
  for (let n = 0; n < 5; n += 1) await unit.graph(owner, change, { persona: `${n}${persona}` });

  t.like(await unit.graph(owner, `{ agentAuditLogs(id: ${id}) { changes } }`), { errors: { 0: refused } });
  const { data } = await unit.graph(owner, `{ agentAuditLogs(id: ${id}) { id action username } }`);
  t.like(data?.['agentAuditLogs'], { 0: { action: 'UPDATE', username: 'Ada Lovelace' }, length: 5 });
});

test('workflows and versions that exceed the answer budget are refused, published definitions included', async (t) => {
  const unit = await agentUnit(t, limits);
  const app = workflowsOf(unit);
  const draft = (n: number) => workflow({ say: say(`${n}${persona}`) });
  const { id } = await app.create({ draft: draft(0) });
  for (let n = 1; n <= 4; n += 1) {
    await app.update(id, { draft: draft(n) });
    await app.publish(id);
  }
  await app.create({ draft: draft(5) });
  await app.create({ draft: draft(6) });
  t.like(await unit.graph(owner, '{ workflows { draft published } }'), { errors: undefined });
  const query = '{ a: workflows { draft published } b: workflows { draft published } }';
  t.like(await unit.graph(owner, query), { errors: { 0: refused } });
  t.like(await unit.graph(owner, '{ a: workflows { published } b: workflows { published } }'), { errors: undefined });

  const versions = `workflowVersions(workflowId: ${id}) { version definition }`;
  t.like(await unit.graph(owner, `{ ${versions} }`), { errors: undefined });
  t.like(await unit.graph(owner, `{ a: ${versions} b: ${versions} }`), { errors: { 0: refused } });
});
