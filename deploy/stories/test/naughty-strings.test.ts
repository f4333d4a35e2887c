import test from 'ava';
import { getNamedType, isLeafType, isObjectType } from 'graphql';
import type { Answer, Client } from '../src/client.ts';
import { createAgent, startSession } from '../src/conversation.ts';
import { sharedMesh } from '../src/mesh.ts';
import { goodValues, isRequired, neverTaken, valueWith } from '../src/naughty-places.ts';
import { naughtyStrings, unstorable } from '../src/naughty-strings.ts';
import { type Operation, servedOperations, type TextPlace } from '../src/served-operations.ts';
import { subscribeOutcome } from '../src/subscribe-outcome.ts';

const mesh = sharedMesh(test);

/** Places whose text is rewritten by their own rule before it is stored. */
const rewritten = new Set(
  ['email', 'phoneNumber', 'phoneCode', 'idNo', 'idType'].map((name) => `register input.${name}`),
);

/** Refusals that say nothing of the text: it was looked for and is not there, is taken, or is nobody's. */
const otherRefusals = new Set(['UNAUTHENTICATED', 'NOT_FOUND', 'CONFLICT']);

/** Texts that are a place in a stream. */
const places = new Set(['0']);

/** How many requests are under way at once. */
const atOnce = 6;

test('every text that an operation takes is stored as it is or refused as BAD_REQUEST, whatever it says', async (t) => {
  t.timeout(300_000); // thousands of requests: a busy machine may be busy for long
  const { person, visitor } = await mesh();
  const lanes = await Promise.all(Array.from({ length: atOnce }, async () => laneOf(await person())));
  const operations = (await servedOperations(visitor())).filter(({ kind }) => kind !== 'subscription');
  const reads = readers(operations);
  const walked = operations.flatMap((operation) => operation.texts.map((place) => ({ operation, place })));
  t.true(walked.length >= 45);
  const taken = new Set<string>();

  for (const { operation, place } of walked) {
    const cases = Object.entries(naughtyStrings);
    while (cases.length > 0) {
      const some = cases.splice(0, atOnce);
      await Promise.all(
        lanes.slice(0, some.length).map((lane, n) => check(lane, operation, place, some[n] ?? ['', ''])),
      );
    }
  }
  // Else everything was refused for some other reason, and nothing was tried.
  const named = walked.map(({ operation, place }) => `${operation.name} ${place.path}`);
  t.deepEqual(
    named.filter((each) => !taken.has(each) && !neverTaken[each]),
    [],
    'these took none of them',
  );
  t.deepEqual(
    Object.keys(neverTaken).filter((each) => taken.has(each) || !named.includes(each)),
    [],
    'these are no exceptions any more',
  );

  async function check(
    lane: Lane,
    operation: Operation,
    place: TextPlace,
    [name, text]: [string, string],
  ): Promise<void> {
    const at = `${operation.name} ${place.path}`;
    const about = `${at}: ${name}`;
    const value = valueWith(text, place);
    const { client, given, variables } = await prepared(lane, operation, place, value);
    const answer = await client.send(operation.document, variables);
    const { code, statusCode, fields } = answer.errors?.[0]?.extensions ?? {};
    if (code !== undefined) {
      t.is(answer.status, 200, about);
      t.true(code === 'BAD_REQUEST' || otherRefusals.has(code), `${about}: ${answer.text.slice(0, 500)}`);
      t.true((statusCode ?? 500) < 500, about);
      if (unstorable.has(name)) t.is(code, 'BAD_REQUEST', about);
      const never = unstorable.has(name) ? undefined : neverTaken[at];
      if (never) t.regex(answer.errors?.[0]?.message ?? '', never.said, about);
      else if (code === 'BAD_REQUEST') {
        t.true((fields?.length ?? 0) > 0, about);
        // Nothing beside it is to blame.
        for (const { path } of fields ?? []) t.regex(path, new RegExp(`^${place.path}(\\W|$)`), about);
      }
      return;
    }
    t.is(answer.errors, undefined, about);
    t.false(unstorable.has(name), `${about} was taken`);
    taken.add(at);
    const isPassword = /\.(newP|p)assword$/.test(place.path);
    const email = client.account?.email ?? String(given['input.email']);
    if (isPassword) await t.notThrowsAsync(visitor().login({ email, password: text }), about);
    await assertKept({ ...lane, client }, operation, place, value, answer, about);
  }

  /** Somebody who may call the operation, and variables that are good but for the walked place. */
  async function prepared(lane: Lane, { name, by, variables }: Operation, { path }: TextPlace, value: unknown) {
    // Nobody may make many tenants.
    const client = by.length === 0 ? visitor() : name === 'createTenant' ? await person() : lane.client;
    const given: Record<string, unknown> = { ...goodValues(), [path]: value };
    const steps = path.split('.');
    // Where one of two is to be given, the other one would be refused.
    if (name === 'login' && path === 'input.phoneNumber') delete given['input.email'];
    if (name === 'createAgent' && path === 'input.externalSyncUrl') given['input.externalSyncEnabled'] = false;
    return {
      client,
      given,
      variables: variables((at, type) => {
        if (at in given && (at === path || !isLeafType(type) || isRequired(name, at))) return given[at];
        if (['ID', 'Int', 'Float'].includes(type.name)) return idAt(lane, name, at);
        return path.startsWith(`${at}.`) && at.split('.').length < steps.length ? true : undefined;
      }),
    };
  }

  function idAt({ agentId, sessionId }: Lane, operation: string, path: string): number | string | undefined {
    if (path === 'id') return operation === 'session' ? String(sessionId) : String(agentId);
    if (path === 'input.agentId') return agentId;
    return path.endsWith('sessionId') ? sessionId : undefined;
  }

  /** That the answer, and whoever reads it afterwards, finds the very same text. */
  async function assertKept(
    { client, sessionId }: Lane,
    { name, field }: Operation,
    { path }: TextPlace,
    value: unknown,
    answer: Answer<Record<string, unknown>>,
    about: string,
  ): Promise<void> {
    if (rewritten.has(`${name} ${path}`)) return;
    if (name === 'sendMessage' && path === 'input.text') {
      const { session: read } = await client.query<{ session: { messages: { text: string }[] } }>(
        'query ($id: ID!) { session(id: $id) { messages { text } } }',
        { id: sessionId },
      );
      t.true(
        read.messages.some(({ text }) => text === value),
        about,
      );
      return;
    }
    if (name === 'register') {
      const tokens = answer.data?.['register'] as Client['tokens'];
      const { getAuthProfile } = await Object.assign(visitor(), { tokens }).query<{
        getAuthProfile: Record<string, unknown>;
      }>('{ getAuthProfile { fullname idType idNo } }');
      const leaf = path.split('.').at(-1) ?? '';
      if (!(leaf in getAuthProfile)) return;
      t.deepEqual(getAuthProfile[leaf], value, about);
      return;
    }
    const leaf = path.split('.').at(-1) ?? '';
    const row = answer.data?.[name] as Record<string, unknown> | undefined;
    if (typeof row !== 'object' || row === null || !(leaf in row)) return;
    const kept = Array.isArray(row[leaf]) ? [value] : value;
    t.deepEqual(row[leaf], kept, `${about}, in the answer`);
    const read = reads.get(getNamedType(field.type).name);
    if (!read) return;
    const again = await client.query(read.document, read.field.args.length > 0 ? { id: String(row['id']) } : {});
    t.deepEqual((again[read.name] as typeof row)[leaf], kept, `${about}, read back`);
  }
});

test('no text opens a subscription that no event has given', async (t) => {
  const { person } = await mesh();
  const ada = await person();
  const { id } = await startSession(ada, await createAgent(ada));
  const headers = { 'x-app-platform': 'customer', authorization: `Bearer ${ada.tokens?.accessToken}` };
  for (const operation of await servedOperations(ada)) {
    if (operation.kind !== 'subscription') continue;
    for (const { path } of operation.texts) {
      for (const [name, text] of Object.entries(naughtyStrings)) {
        const variables = operation.variables((at, type) =>
          at === path ? text : type.name === 'ID' ? String(id) : undefined,
        );
        const answer = await subscribeOutcome(ada.url, headers, operation.document, variables);
        t.is(answer, places.has(text) ? 'ok' : 'BAD_REQUEST', `${operation.name} ${path}: ${name}`);
      }
    }
  }
});

/** Somebody with an agent and a session, so that nobody changes what another one has just stored. */
interface Lane {
  client: Client;
  agentId: number;
  sessionId: number;
}

async function laneOf(client: Client): Promise<Lane> {
  const agentId = await createAgent(client);
  return { client, agentId, sessionId: (await startSession(client, agentId)).id };
}

/** Operations that read one thing, by the type of that thing: with its id, or as one's own. */
function readers(operations: Operation[]): Map<string, Operation> {
  const found = new Map<string, Operation>();
  for (const operation of operations) {
    const { kind, field } = operation;
    const takes = field.args.map(({ name }) => name).join();
    if (kind !== 'query' || (takes !== '' && takes !== 'id') || !isObjectType(getNamedType(field.type))) continue;
    if (String(field.type).startsWith('[')) continue;
    found.set(getNamedType(field.type).name, operation);
  }
  return found;
}
