import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { context, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import { Role } from '@parley/protos/parley/agent/v1/agent';
import { startModelServer } from '@parley/testing/model-server';
import test from 'ava';
import { runTurn } from './agent-turns.ts';
import { agentUnit, createAgent, inTenant } from './agent-unit.ts';
import { passage } from './scripted-knowledge.ts';

const spans = new InMemorySpanExporter();

test('logs and spans never contain personas, conversations or keys, even after failures', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-logs-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  process.env['LOG_FILE'] = join(folder, 'log');
  process.env['LOG_LEVEL'] = 'trace';
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter: spans })] }));
  t.teardown(() => {
    trace.disable();
    context.disable();
  });

  const server = await startModelServer({ key: 'canary-key' });
  t.teardown(() => server.stop());
  const unit = await agentUnit(t, {
    HOSTED_SMALL_MODEL_URL: server.url,
    HOSTED_SMALL_MODEL_MODEL: 'm',
    HOSTED_SMALL_MODEL_KEY: 'canary-key',
  });
  const caller = inTenant(1);
  const { id } = await createAgent(unit, caller, {
    personaPrompt: 'You are canary-persona.',
    knowledgeBaseIds: [1],
  });
  unit.knowledge.find = async () => [passage(1, 'A canary-passage.', { documentName: 'canary-name.md' })];
  const history = [{ role: Role.ROLE_USER, text: 'canary-question' }];
  const generation = { system: 'canary-system', prompt: 'canary-prompt', jsonSchemaJson: '' };
  for (const answer of [
    {},
    { ending: 'cut' },
    { ending: 'error-event' },
    { ending: 'malformed' },
    { status: 400 },
    { status: 500, body: JSON.stringify({ error: { message: 'Cannot read: A canary-passage.' } }) },
  ] as const) {
    server.answerWith({ text: 'canary-answer', ...answer });
    const { error } = await runTurn(unit, id, { caller, history });
    t.is(error !== undefined, Object.keys(answer).length > 0);
    if (error) continue;
    await unit.rpc.generate({ agentId: id, sessionId: 1, operation: 'o', callId: 'c', ...generation }, { caller });
  }
  const input = { personaPrompt: 'canary-update', evaluationPromptTemplate: '{{ canary-template' };
  await unit.graph(caller, `mutation ($input: UpdateAgentInput!) { updateAgent(id: ${id}, input: $input) { id } }`, {
    input,
  });

  const logged = readFileSync(process.env['LOG_FILE'], 'utf8');
  t.regex(logged, /model call failed/);
  t.notRegex(logged, /canary/);
  const recorded = spans
    .getFinishedSpans()
    .map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
  t.true(recorded.some(({ attributes }) => attributes['gen_ai.request.model'] === 'm'));
  t.notRegex(JSON.stringify(recorded), /canary/);
});
