import type { Database, TenantDb } from '@parley/postgres/database/types';
import { testSchema } from '@parley/testing/test-schema';
import { schemas as declared } from '@parley/units';
import test, { type TestFn } from 'ava';
import type { Facts } from '../src/invariants/facts.ts';
import { readRows } from '../src/invariants/read-rows.ts';
import { problemsOf } from '../src/invariants.ts';
import { createLedger, type Ledger } from '../src/ledger.ts';

const schemas = sharedSchemas(test);
const conversation = async () => wholeConversation(await schemas());

test('consistent data of a mesh violate no invariant', async (t) => {
  const { facts } = await conversation();
  t.deepEqual(problemsOf(await facts()), []);
});

/** Rows that violate an invariant, with the problem that the checker must report. `#` stands for the session's id. */
const wrongRows: [string, (whole: WholeConversation) => Promise<unknown>, string[]][] = [
  [
    'a message without a reply',
    (whole) => whole.in('session', ({ knex }) => knex('messages').where({ role: 'MODEL' }).delete()),
    ['message 0 of session # has 0 replies, 0 failures, turns DONE'],
  ],
  [
    'a reply and a failure for one message',
    (whole) =>
      whole.in('session', async ({ knex }) => {
        await knex('turns').where({ turn_index: 0 }).update({ state: 'FAILED', failure_code: 'MODEL_FAILED' });
        await knex('messages').where({ exchange_index: 0, role: 'MODEL' }).update({ finish_reason: 'STOP' });
      }),
    ['message 0 of session # has 1 replies, 1 failures, turns FAILED'],
  ],
  [
    'a message without a turn',
    (whole) => whole.in('session', ({ knex }) => knex('turns').where({ turn_index: 1 }).delete()),
    ['message 1 of session # has 0 replies, 0 failures, turns '],
  ],
  [
    'a gap in the numbers',
    (whole) => whole.in('session', ({ knex }) => knex('messages').where({ turn_index: 2 }).update({ turn_index: 3 })),
    ['session # counts its messages 0,1,3'],
  ],
  [
    'an ended session without a judgement',
    (whole) => whole.in('evaluation', ({ knex }) => knex('evaluations').delete()),
    ['session # is ENDED and has no evaluation'],
  ],
  [
    'a judgement of a session that goes on',
    (whole) => whole.in('session', ({ knex }) => knex('sessions').update({ status: 'ACTIVE' })),
    [
      'session # is ACTIVE and has 1 evaluations',
      'session # is ACTIVE, and 1 events say that it ended',
      'the end of session # was acknowledged, and it is ACTIVE',
    ],
  ],
  [
    'a judgement that came too late',
    (whole) =>
      whole.in('evaluation', ({ knex }) =>
        knex.raw(`UPDATE evaluations SET generated_at = generated_at + interval '1 hour'`),
      ),
    ['session # was judged n ms after its end'],
  ],
  [
    'an event that was not published',
    ({ database, tenantId, sessionId }) =>
      database('session').transactShared(({ knex }) =>
        knex('outbox').insert({
          tenant_id: tenantId,
          topic: 'session-ended',
          type: 'session.ended.v1',
          key: String(sessionId),
          data: Buffer.alloc(0),
        }),
      ),
    ['session has not published session-ended of #'],
  ],
  [
    'a job that nobody begins',
    ({ database, tenantId, sessionId }) => insertJob(database, tenantId, sessionId, { state: 'queued' }),
    [
      'evaluation has a queued job evaluation.judge of #',
      'evaluation has not begun its job evaluation.judge of #, due for n ms',
    ],
  ],
  [
    'a job whose lease has run out',
    ({ database, tenantId, sessionId }) =>
      insertJob(database, tenantId, sessionId, {
        state: 'running',
        lease_token: '01890a5d-ac96-774b-bcce-b302099a8057',
      }),
    [
      'evaluation has a running job evaluation.judge of #',
      'evaluation has a job evaluation.judge of # whose lease ran out n ms ago',
    ],
  ],
  [
    'a turn that waits and has no job',
    (whole) =>
      whole.in('session', async ({ knex }) => {
        await knex('sessions').update({ status: 'ACTIVE', ended_at: null });
        await knex('turns').where({ turn_index: 1 }).update({ state: 'QUEUED', failure_code: null });
      }),
    [
      'message 1 of session # has 0 replies, 0 failures, turns QUEUED',
      'session # is ACTIVE and has 1 evaluations',
      'session # is ACTIVE, and 1 events say that it ended',
      'the end of session # was acknowledged, and it is ACTIVE',
      'turn 1 of session # is QUEUED, and no job is there',
    ],
  ],
  [
    'an agent of another tenant',
    async (whole) => {
      const other = await conversation();
      await whole.in('session', ({ knex }) => knex('sessions').update({ agent_id: other.agentId }));
    },
    ['session # talks to an agent that its tenant does not have'],
  ],
  [
    'an evaluation of another tenant',
    async (whole) => {
      const other = await conversation();
      await whole.in('evaluation', ({ knex }) =>
        knex('evaluations').insert(evaluationOf(whole.tenantId, other.sessionId)),
      );
    },
    ['an evaluation is of a session that its tenant does not have'],
  ],
  [
    'a call that is not settled',
    ({ database, tenantId }) =>
      database('identity').transact(tenantId, ({ knex }) =>
        knex('usage_reservations').insert({
          ...callOf(tenantId),
          call_id: 'second',
          begun: true,
          lease_until: new Date(),
        }),
      ),
    ['call second of tenant @ is not settled', 'reserved of 2026-11-01: tenant @ shows 0, and its calls are 0.125'],
  ],
  [
    'a key that a request still holds',
    ({ database, tenantId }) =>
      database('identity').transactShared(({ knex }) =>
        knex('idempotency_keys').insert({
          id: '01890a5d-ac96-774b-bcce-b302099a8057',
          tenant_id: tenantId,
          caller: 'session 1',
          key_sha256: Buffer.alloc(32),
          request_hmac: Buffer.alloc(32),
          claim_id: '01890a5d-ac96-774b-bcce-b302099a8057',
          lease_until: new Date(Date.now() + 60_000),
          expires_at: new Date(Date.now() + 60_000),
        }),
      ),
    ['a request still holds its Idempotency-Key 01890a5d-ac96-774b-bcce-b302099a8057'],
  ],
  [
    'a call that no total counts',
    (whole) =>
      whole.in('identity', ({ knex }) =>
        knex('usage_calls').insert({ ...callOf(whole.tenantId), ...settled, call_id: 'second' }),
      ),
    [
      'calls of test-model for session: tenant @ shows 1, and its calls are 2',
      'spend of 2026-11-01: tenant @ shows 0.125, and its calls are 0.25',
    ],
  ],
  [
    'a document that counts too few chunks',
    (whole) => whole.in('knowledge', ({ knex }) => knex('knowledge_documents').update({ chunk_count: 0 })),
    ['chunks: tenant @ counts 1, and its rows are 0', 'chunks of document %: tenant @ counts 0, and its rows are 1'],
  ],
  [
    'counters of what is deleted',
    (whole) =>
      whole.in('knowledge', async ({ knex }) => {
        await knex('knowledge_documents').update({ deleted_at: knex.fn.now() });
        await knex('knowledge_bases').update({ deleted_at: knex.fn.now() });
      }),
    [
      'chunks: tenant @ counts 1, and its rows are 0',
      'knowledge bases: tenant @ counts 1, and its rows are 0',
      'stored bytes: tenant @ counts 5, and its rows are 0',
    ],
  ],
  [
    'a document that waits and that nobody reads',
    (whole) => whole.in('knowledge', ({ knex }) => knex('knowledge_documents').update({ parse_status: 'PENDING' })),
    ['document % is PENDING, and no event or job is there'],
  ],
  [
    'a call of a tool that is not logged',
    (whole) => whole.in('action', (db) => insertToolCall(db, whole.sessionId, { result_sealed: Buffer.alloc(1) })),
    ['of tenant @ in session #, 1 calls of tools have ended, and 0 are logged'],
  ],
  [
    'a call of a tool that runs',
    (whole) =>
      whole.in('action', async (db) => {
        await insertToolCall(db, whole.sessionId, {});
        await db.knex('calling_processes').insert({ id: processId, lease_until: new Date(Date.now() + 60_000) });
      }),
    ['of tenant @ in session #, 1 calls of tools still run'],
  ],
  [
    'a run of a workflow that runs',
    (whole) => whole.in('agent', (db) => insertRuns(db, whole.sessionId, ['ENDED', 'RUNNING'])),
    ['session # has 1 runs of workflows that still run'],
  ],
  [
    'more runs of a workflow than turns',
    (whole) => whole.in('agent', (db) => insertRuns(db, whole.sessionId, ['ENDED', 'FAILED', 'WAITING'])),
    ['session # has 3 runs of workflows in 2 turns'],
  ],
  [
    'a total without its call',
    (whole) => whole.in('identity', ({ knex }) => knex('usage_calls').delete()),
    [
      'calls of test-model for session: tenant @ shows 1, and its calls are 0',
      'spend of 2026-11-01: tenant @ shows 0.125, and its calls are 0',
    ],
  ],
];

for (const [what, breakIt, expected] of wrongRows) {
  test(`inconsistent rows are found: ${what}`, async (t) => {
    const whole = await conversation();
    await breakIt(whole);
    const found = problemsOf(await whole.facts()).map((problem) =>
      problem
        .replaceAll(new RegExp(`(session|of) ${whole.sessionId}\\b`, 'gu'), '$1 #')
        .replace(`tenant ${whole.tenantId} in`, 'tenant @ in')
        .replaceAll(/\d+(\.\d+)? ms/gu, 'n ms')
        .replace(new RegExp(`tenant ${whole.tenantId} (is|shows|counts)`, 'u'), 'tenant @ $1')
        .replace(/document \d+/u, 'document %')
        .replace(/agent \d+, which/u, 'an agent that')
        .replace(/of session \d+, which its tenant \d+/u, 'of a session that its tenant'),
    );
    t.deepEqual(found.toSorted(), expected.toSorted());
  });
}

/** Wrong facts about topics, clients and models, while the rows are correct. */
const wrongWords: [string, (facts: Facts, sessionId: number, tenantId: number) => void, string][] = [
  [
    'events still to be taken',
    ({ topics }) => void Object.assign(topics?.groups[0] ?? {}, { lag: 2 }),
    'evaluation has still 2 events of session-ended to take',
  ],
  [
    'an event that had no effect',
    (facts) => void (facts.inbox = []),
    'evaluation has not taken event event # of session-ended',
  ],
  [
    'two events of one end',
    ({ topics, inbox }, sessionId, tenantId) => {
      topics?.events.push({ ...endOf(tenantId, sessionId), id: 'another' });
      inbox.push({ consumer: 'evaluation', eventId: 'another' });
    },
    'session # is ENDED, and 2 events say that it ended',
  ],
  [
    'an end without an event',
    ({ topics }) => void topics?.events.splice(0),
    'session # is ENDED, and no event says so',
  ],
  [
    'a dead letter',
    ({ topics }) =>
      void topics?.letters.push({ topic: 'session-ended', group: 'evaluation', eventId: 'x', reason: 'no' }),
    'evaluation gave up event x of session-ended: no',
  ],
  [
    'an event that should fail and was handled',
    (facts) => void Object.assign(facts.topics ?? {}, { poison: ['x'] }),
    'event x is poison and no dead letter',
  ],
  [
    'an acknowledged message that is gone',
    (facts) =>
      void facts.messages.splice(
        facts.messages.findIndex(({ turnIndex }) => turnIndex === 0),
        1,
      ),
    '"USER 0 of #." in session # was acknowledged and is there 0 times',
  ],
  [
    'a refused message that is there',
    (facts, sessionId) =>
      addResponse(facts, { sessionId, text: `USER 1 of ${sessionId}.`, outcome: 'refused', code: 'CONFLICT' }),
    '"USER 1 of #." in session # was refused and is there 1 times',
  ],
  [
    'a reply that no model was asked for',
    ({ asked }) => void asked?.replies.shift(),
    'a model was asked 0 times for 1 replies to "USER 0 of #."',
  ],
  [
    'a reply that a model was asked for twice',
    ({ asked }) => void asked?.replies.push(asked.replies[0] ?? ''),
    'a model was asked 2 times in 1 attempts at "USER 0 of #."',
  ],
  [
    'a judgement that nobody was asked for',
    ({ asked }) => void asked?.judgements.pop(),
    'nobody was asked for the judgement of session #',
  ],
  [
    'a judgement that was asked for twice',
    ({ asked }) => void asked?.judgements.push(asked.judgements[0] ?? ''),
    'the judgement of session # was asked for 2 times',
  ],
];

const processId = '01890a5d-ac96-774b-bcce-b302099a8057';

async function insertRuns({ knex, tenantId }: TenantDb, sessionId: number, statuses: string[]): Promise<void> {
  const run = {
    workflow_id: 1,
    version: 1,
    attempt: '1',
    progress: '{}',
    trace: '[]',
    tokens_in: 0,
    tokens_out: 0,
    cost_usd: 0,
  };
  for (const status of statuses)
    await knex('workflow_runs').insert({
      tenant_id: tenantId,
      session_id: sessionId,
      turn_key: status,
      status,
      ...run,
    });
}

async function insertToolCall({ knex, tenantId }: TenantDb, sessionId: number, row: object): Promise<void> {
  const sealed = { note_sealed: Buffer.alloc(0), arguments_sealed: Buffer.alloc(0), ...row };
  const call = { turn: 'turn', call: '1.0', kind: 'ACTION', target: 1, session_id: sessionId, process_id: processId };
  await knex('turn_calls').insert({ tenant_id: tenantId, ...call, ...sealed });
}

function addResponse(facts: Facts, message: Ledger['messages'][number]): void {
  facts.responses = { endedSessions: [], messages: [...(facts.responses?.messages ?? []), message] };
}

for (const [what, breakIt, expected] of wrongWords) {
  test(`facts of topics, clients and models are checked against the rows: ${what}`, async (t) => {
    const { facts, sessionId, tenantId } = await conversation();
    const given = await facts();
    breakIt(given, sessionId, tenantId);
    const found = problemsOf(given).map((problem) =>
      problem.replaceAll(new RegExp(`(session|of|event) ${sessionId}\\b`, 'gu'), '$1 #'),
    );
    t.true(found.includes(expected), JSON.stringify(found));
  });
}

test('work of a suspended tenant may wait, and sessions of a deleted tenant need no evaluation', async (t) => {
  const whole = await conversation();
  const { database, tenantId, sessionId } = whole;
  await database('evaluation').transact(tenantId, ({ knex }) => knex('evaluations').delete());
  await insertJob(database, tenantId, sessionId, { state: 'queued', run_at: new Date(Date.now() + 60_000) });
  const rowFacts = async () => ({ ...(await whole.facts()), topics: undefined, asked: undefined });
  t.is(problemsOf(await rowFacts()).length, 2);
  const change = (row: object) =>
    database('identity').transactShared(({ knex }) => knex('tenants').where({ id: tenantId }).update(row));

  await change({ suspended_by_operator: true });
  t.deepEqual(problemsOf(await rowFacts()), []);
  await change({ suspended_by_operator: false, deleted_at: new Date() });
  await database('evaluation').transactShared(({ knex }) => knex('jobs').where({ tenant_id: tenantId }).delete());
  t.deepEqual(problemsOf(await rowFacts()), []);
});

test('a ledger separates acknowledged, refused and unknown messages', async (t) => {
  const answers = ['UNAVAILABLE', undefined, 'TOO_MANY_REQUESTS', undefined];
  const ledger = createLedger();
  const client = {
    async send() {
      const code = answers.shift();
      return code ? { errors: [{ extensions: { code } }] } : {};
    },
  };
  await ledger.send(client, 1, 'one');
  t.is(await ledger.send(client, 1, 'two'), 'two (2)');
  t.deepEqual(
    ledger.messages.map(({ text, outcome }) => `${text}: ${outcome}`),
    ['one: unknown', 'one (2): acknowledged', 'two: refused', 'two (2): acknowledged'],
  );
});

type Databases = (name: string) => Database;

/** Creates the schemas of all services once for all tests of a file. Each test has its own tenant. */
function sharedSchemas(test: TestFn): () => Promise<Databases> {
  let opened: Promise<Databases> | undefined;
  const teardowns: (() => unknown)[] = [];
  test.after.always('the schemas go', async () => {
    for (let end = teardowns.pop(); end; end = teardowns.pop()) await end();
  });
  return () => {
    opened ??= (async () => {
      const all = new Map<string, Database>();
      const withTheFile = { teardown: (end: () => unknown) => void teardowns.push(end) };
      for (const schema of declared) all.set(schema.name, await testSchema(withTheFile, schema));
      return (name) => all.get(name) as Database;
    })();
    return opened;
  };
}

/** Facts without a violation: one conversation in the rows of all services, with its events, responses and requests. */
interface WholeConversation {
  database: Databases;
  tenantId: number;
  agentId: number;
  /** The id of an ended, evaluated session with one answered and one failed question. */
  sessionId: number;
  in(service: string, work: (db: TenantDb) => PromiseLike<unknown>): Promise<unknown>;
  facts(): Promise<Facts>;
}

/** Inserts a whole conversation for a new tenant. */
async function wholeConversation(database: Databases): Promise<WholeConversation> {
  const tenantId = await database('identity').transactShared(async ({ knex }) => {
    const referral_code = Math.random().toString(36);
    const [user] = await knex('users').insert({ fullname: 'Ada', referral_code }).returning('id');
    const [tenant] = await knex('tenants').insert({ name: 'A', plan: 'DEV', created_by: user.id }).returning('id');
    return tenant.id as number;
  });
  const tenant_id = tenantId;
  const agentId = await newAgent(database, tenantId);
  const sessionId: number = await database('session').transact(tenantId, async ({ knex }) => {
    const [{ id }] = await knex('sessions')
      .insert({ tenant_id, agent_id: agentId, status: 'ENDED', client_external_id: 'c', ended_at: knex.fn.now() })
      .returning('id');
    const message = (role: string, turn_index: number, exchange_index: number) => ({
      tenant_id,
      session_id: id,
      role,
      text: `${role} ${exchange_index} of ${id}.`,
      turn_index,
      exchange_index,
      token_estimate: 1,
    });
    await knex('messages').insert([message('USER', 0, 0), message('USER', 1, 1), message('MODEL', 2, 0)]);
    await knex('turns').insert([
      { tenant_id, session_id: id, turn_index: 0, state: 'DONE', attempt: 1 },
      { tenant_id, session_id: id, turn_index: 1, state: 'FAILED', attempt: 1, failure_code: 'MODEL_FAILED' },
    ]);
    return id;
  });
  await database('evaluation').transact(tenantId, ({ knex }) =>
    knex('evaluations').insert(evaluationOf(tenantId, sessionId)),
  );
  await database('identity').transact(tenantId, async ({ knex }) => {
    await knex('usage_calls').insert({ ...callOf(tenantId), ...settled });
    await knex('usage_months').insert({ tenant_id, month: '2026-11-01', spent_usd: '0.125' });
    await knex('usage_counts').insert({ tenant_id, model: 'test-model', operation: 'session', count: 1 });
  });
  await database('knowledge').transact(tenantId, async ({ knex }) => {
    const [base] = await knex('knowledge_bases')
      .insert({ tenant_id, name: 'Returns', embedding_model: 'offline-embedding-1' })
      .returning('id');
    const ofBase = { tenant_id, knowledge_base_id: base.id };
    const text = { origin: 'TEXT', file_name: 'a', mime_type: 'text/plain', parse_status: 'READY', raw_text: 'Hello' };
    const counts = { file_size_bytes: 5, stored_bytes: 5, chunk_count: 1, generation: 1 };
    const [document] = await knex('knowledge_documents')
      .insert({ ...ofBase, ...text, ...counts })
      .returning('id');
    const embedding = JSON.stringify(Array.from({ length: 768 }, () => 0));
    const place = { document_id: document.id, generation: 1, chunk_index: 0 };
    await knex('knowledge_chunks').insert({ ...ofBase, ...place, content: 'Hello', embedding });
    await knex('knowledge_usage').insert({ tenant_id, knowledge_bases: 1, chunks: 1, stored_bytes: 5 });
  });
  await database('evaluation').transactShared(({ knex }) =>
    knex('inbox').insert({ consumer: 'evaluation', event_id: `event ${sessionId}`, tenant_id }),
  );
  return {
    database,
    tenantId,
    agentId,
    sessionId,
    in: (service, work) => database(service).transact(tenantId, async (db) => void (await work(db))),
    facts: async () => ({
      ...(await readRows(database, [tenantId])),
      topics: {
        events: [endOf(tenantId, sessionId), endOf(tenantId, sessionId)],
        groups: [{ group: 'evaluation', topic: 'session-ended', lag: 0 }],
        letters: [],
        poison: [],
      },
      responses: {
        messages: [{ sessionId, text: `USER 0 of ${sessionId}.`, outcome: 'acknowledged', code: undefined }],
        endedSessions: [sessionId],
      },
      asked: {
        replies: [`USER 0 of ${sessionId}.`, `USER 1 of ${sessionId}.`],
        judgements: [JSON.stringify(`USER 0 of ${sessionId}. USER 1 of ${sessionId}.`)],
        repeats: 0,
      },
    }),
  };
}

async function newAgent(database: Databases, tenant_id: number): Promise<number> {
  const [{ id }] = await database('agent').transact(tenant_id, ({ knex }) =>
    knex('agents')
      .insert({
        tenant_id,
        name: 'Maya',
        persona_prompt: 'p',
        position: 'p',
        use_case: 'SALES',
        status: 'ACTIVE',
        voice_tier: 'STANDARD',
        vad_threshold: 0.5,
        avatar_backend: 'CLIENT_3D',
      })
      .returning('id'),
  );
  return id;
}

const callOf = (tenant_id: number) => ({
  tenant_id,
  call_id: 'first',
  month: '2026-11-01',
  operation: 'session',
  provider_id: 'DIRECT_MODEL_API',
  model_id: 'test-model',
  tokens_in: 1,
  tokens_cached: 0,
  tokens_out: 1,
  cost_usd: '0.125',
});
const settled = { estimated: false, served: true, lease_ended: false };

const evaluationOf = (tenant_id: number, session_id: number) => ({
  tenant_id,
  session_id,
  score: 1,
  summary: '',
  strengths: '[]',
  weaknesses: '[]',
  recommendation: '',
  transcript: '[]',
  judged_by: 'test-model',
});

const endOf = (tenantId: number, sessionId: number) => ({
  topic: 'session-ended',
  id: `event ${sessionId}`,
  key: String(sessionId),
  type: 'session.ended.v1',
  tenantId,
});

/** Inserts an overdue evaluation job. If it has a lease, the lease has expired. */
function insertJob(database: Databases, tenant_id: number, sessionId: number, row: object) {
  const isRunning = 'lease_token' in row;
  return database('evaluation').transactShared(({ knex }) =>
    knex('jobs').insert({
      kind: 'evaluation.judge',
      key: String(sessionId),
      tenant_id,
      payload: { sessionId },
      run_at: knex.raw(`parley_now() - interval '60 s'`),
      created_at: knex.fn.now(),
      ...(isRunning && { lease_until: knex.raw(`parley_now() - interval '30 s'`) }),
      ...row,
    }),
  );
}
