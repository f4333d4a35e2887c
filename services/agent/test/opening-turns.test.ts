import { Role } from '@parley/protos/parley/agent/v1/agent';
import test from 'ava';
import { runTurn, unitWithModel } from './agent-turns.ts';
import { agentUnit, createAgent, inTenant } from './agent-unit.ts';

const owner = inTenant(1);
const opens = { opens: true, history: [] };

test('a model is asked to open the conversation with the greeting, in persona, and that is metered as a greeting', async (t) => {
  const unit = await unitWithModel(t, { text: 'Well met!' }, { HOSTED_SMALL_MODEL_MODEL: 'gpt-4o' });
  const { id } = await createAgent(unit, owner, { openingGreeting: 'Shall we begin?' });
  const { texts, finished } = await runTurn(unit, id, opens);
  t.deepEqual(texts, ['Well met!']);
  t.true((finished?.costUsdE8 ?? 0n) > 0n);
  const [system, ...messages] = unit.server.requests[0]?.body.messages ?? [];
  t.regex(String(system?.content), /You are Ada, a patient maths tutor/);
  t.deepEqual(
    messages.map(({ role }) => role),
    ['user'],
  );
  t.regex(String(messages[0]?.content), /you speak first.*\n\nShall we begin\?$/s);
  t.like(unit.ledger.settled[0]?.call, { operation: 'greeting', agentId: id, sessionId: 1 });
});

test('the offline model says the greeting itself, or greets as its persona where there is none', async (t) => {
  const unit = await agentUnit(t);
  const greeting = 'Hello, and welcome. Shall we begin with fractions?';
  const said = await createAgent(unit, owner, { openingGreeting: greeting });
  t.is((await runTurn(unit, said.id, opens)).texts.join(''), greeting);
  const silent = await createAgent(unit, owner);
  t.regex((await runTurn(unit, silent.id, opens)).texts.join(''), /^Hello! I am Ada/);
});

test('the opening turn of an agent answers no message', async (t) => {
  const unit = await agentUnit(t);
  const { id } = await createAgent(unit, owner);
  const history = [{ role: Role.ROLE_USER, text: 'Hi' }];
  t.like((await runTurn(unit, id, { opens: true, history })).error, {
    kind: 'invalid',
    fields: [{ path: 'history', message: 'must be empty' }],
  });
});
