import test, { type ExecutionContext } from 'ava';
import { getNullableType, isListType, isNonNullType } from 'graphql';
import { createAction, createConnector } from '../../src/actions.ts';
import type { Answer, Client } from '../../src/client.ts';
import { createAgent, endSession, evaluated, readSession, sendMessage, startSession } from '../../src/conversation.ts';
import { browserOf, isForBrowsers, sdkStart } from '../../src/embed.ts';
import type { GraphError } from '../../src/graph-error.ts';
import { createKnowledgeBase, ingestText, readKnowledgeDocument } from '../../src/knowledge.ts';
import type { TestMesh } from '../../src/mesh.ts';
import { isId, type Operation, type Place, servedOperations } from '../../src/operations.ts';
import { stories } from '../../src/stories.ts';
import { createWorkflow, deleteWorkflow, publishWorkflow } from '../../src/workflows.ts';

// The response to a foreign id is the same on every mesh, so one mesh serves these many requests.
const story = stories(test, { on: 'processes' });

// allow-name workflow: the kind of object.
const kinds = [
  'agent',
  'session',
  'tenant',
  'workflow',
  'base',
  'document',
  'connector',
  'customAction',
  'export',
] as const;

/** Ids that do not name an object of a tenant. The id in `validateSecuredToken` names a code, which is useless without the code's text. */
const external = ['externalSyncOwnerId', 'token.id', 'validateSecuredToken.input.id'];

/**
 * Returns the kind of object that an id names. The argument's name (`agentId`) determines the kind, or, if the argument is `id`, the
 * operation's name. Returns undefined if the kind is ambiguous.
 */
function kindOf(operation: string, path: string): (typeof kinds)[number] | 'external' | undefined {
  if (external.some((name) => `.${operation}.${path}`.endsWith(`.${name}`))) return 'external';
  const own = path.split('.').at(-1) ?? '';
  const words = own === 'id' ? operation : own.replace(/^actionId$/, 'customActionId');
  const found = kinds.filter((kind) => words.toLowerCase().includes(kind.toLowerCase()));
  return found.length === 1 ? found[0] : undefined;
}

/** Nullable reads and lists that return an error for an absent object. Any other returns null or an empty list. */
// allow-name agentAuditLogs: the contract requires an error for a foreign id; it is not a rule of the gateway.
// allow-name knowledgeDocuments: the same. allow-name retrieveChunks: the same. allow-name listMcpTools: the same. allow-name workflowVersions: the same.
const saysSo = new Set(['agentAuditLogs', 'knowledgeDocuments', 'retrieveChunks', 'listMcpTools', 'workflowVersions']);

/** Valid values for other arguments, so that the id is evaluated. */
const otherwise: Record<string, unknown> = { 'input.url': 'https://example.com/', 'input.mimeType': 'text/csv' };
const beside: Record<string, Record<string, unknown>> = { 'input.tools.connectorId': { 'input.tools.tool': 'search' } };

/** Ids of no object: unused numbers, and malformed ids for arguments that are texts. */
const absent = [2_147_483_647, 900_000_001, 0, -1, -2_147_483_648];
const malformed = [
  'abc',
  '',
  ' ',
  '99999999999',
  '-99999999999',
  '1.5',
  '01',
  '+1',
  ' 1',
  '1e3',
  '0x1',
  'null',
  '١',
  '9'.repeat(400),
  '{}',
  "1'--",
];

/** Values outside the type Int: beyond 32 bits, or not integers. GraphQL refuses them before anything runs. */
const noInts = [2_147_483_648, -2_147_483_649, 99_999_999_999, 1e300, 1.5, 'abc', '1', '', true, [], {}];

/** An argument of an operation that names an object by its id. */
interface IdArgument extends Place {
  operation: Operation;
  /** The operation and the argument's path. */
  name: string;
  kind: ReturnType<typeof kindOf>;
  /** Returns variables with this value for the argument, and valid values for all other arguments. */
  variables(id: unknown): Record<string, unknown>;
}

interface OwnThings {
  agentId: number;
  sessionId: number;
  baseId?: number;
  documentId?: number;
  connectorId?: number;
  actionId?: number;
  workflowId?: number;
}

/**
 * Returns every id argument of every served operation.
 * @param own the client's own objects, whose ids are used for the other arguments of an operation
 */
async function idArguments(client: Client, own: OwnThings): Promise<IdArgument[]> {
  const owned: Record<string, number | undefined> = {
    agent: own.agentId,
    session: own.sessionId,
    base: own.baseId,
    document: own.documentId,
    connector: own.connectorId,
    customAction: own.actionId,
    workflow: own.workflowId,
  };
  const ownId = (operation: string, path: string) => owned[kindOf(operation, path) ?? ''] ?? 1;
  return servedOperations().flatMap((operation) =>
    operation.places.filter(isId).map((place) => ({
      ...place,
      operation,
      name: `${operation.name} ${place.path}`,
      kind: kindOf(operation.name, place.path),
      variables: (id) =>
        operation.variables((at, type, isRequired) => {
          if (at === place.path) return id;
          if (isId({ path: at, type: type.name })) return isRequired ? ownId(operation.name, at) : undefined;
          return otherwise[at] ?? beside[place.path]?.[at] ?? (place.path.startsWith(`${at}.`) || undefined);
        }),
    })),
  );
}

/**
 * Returns a function that selects absent ids for an argument. The first argument of each service and type gets all absent ids. Each other
 * argument gets only a few, and the next argument gets different ones.
 */
function nobodysIds(walked: readonly IdArgument[]): (argument: IdArgument) => (string | number)[] {
  const all = ({ type }: IdArgument) => [...absent, ...(type === 'ID' ? malformed : [])];
  const first = [...Map.groupBy(walked, ({ operation, type }) => `${operation.service} ${type}`).values()];
  const whole = new Set(first.map(([argument]) => argument));
  return (argument) => {
    const n = walked.indexOf(argument);
    const ids = all(argument);
    return whole.has(argument) ? ids : [0, 1, 2, 3].flatMap((k) => ids[(4 * n + k) % ids.length] ?? []);
  };
}

async function twoTenants({ person }: TestMesh) {
  const [ada, eve] = await Promise.all([person(), person()]);
  const agentId = await createAgent(ada);
  const { myTenant } = await ada.query<{ myTenant: { id: number } }>('{ myTenant { id } }');
  const [workflowId, deletedWorkflowId] = [await createWorkflow(ada), await createWorkflow(ada)];
  await publishWorkflow(ada, workflowId);
  await deleteWorkflow(ada, deletedWorkflowId);
  const { id: sessionId } = await startSession(ada, agentId);
  await sendMessage(ada, sessionId, 'Between the two of us.');
  const ended = await startSession(ada, agentId);
  await endSession(ada, ended.id);
  await evaluated(ada, ended.id);
  const baseId = await createKnowledgeBase(ada);
  const deletedBaseId = await createKnowledgeBase(ada);
  const document = await ingestText(ada, baseId, 'Between the two of us.');
  const deletedDocument = await ingestText(ada, baseId, 'Nobody reads this.');
  const lostDocument = await ingestText(ada, deletedBaseId, 'Nobody reads this either.');
  await ada.query('mutation ($id: Int!) { deleteKnowledgeDocument(id: $id) }', { id: deletedDocument.id });
  await ada.query('mutation ($id: Int!) { deleteKnowledgeBase(id: $id) }', { id: deletedBaseId });
  const [connectorId, deletedConnectorId] = [await createConnector(ada), await createConnector(ada)];
  const [actionId, deletedActionId] = [await createAction(ada), await createAction(ada)];
  await ada.query('mutation ($id: Int!) { deleteMcpConnector(id: $id) }', { id: deletedConnectorId });
  await ada.query('mutation ($id: Int!) { deleteCustomAction(id: $id) }', { id: deletedActionId });
  const ownAgent = await createAgent(eve);
  // The client has an access token and an API key, so that every operation finds a credential that it accepts.
  const server = await eve.withApiKey();
  eve.apiKey = server.apiKey;
  const embedded = await sdkStart(server, { agentId: ownAgent });
  const browser = browserOf(server, embedded.avatarToken);
  const ownBase = await createKnowledgeBase(eve);
  const theirs = await sdkStart(await ada.withApiKey(), { agentId });
  const exported = await browserOf(server, theirs.avatarToken).value<{ id: number }>(
    'mutation { requestStudyKitExport { id } }',
  );
  const own = {
    agentId: ownAgent,
    sessionId: (await startSession(eve, ownAgent)).id,
    embeddedId: embedded.sessionId,
    baseId: ownBase,
    documentId: (await ingestText(eve, ownBase, 'Mine.')).id,
    connectorId: await createConnector(eve),
    actionId: await createAction(eve),
    workflowId: await createWorkflow(eve),
  };
  const things = {
    agent: [agentId],
    session: [sessionId, ended.id],
    tenant: [myTenant.id],
    workflow: [workflowId, deletedWorkflowId],
    base: [baseId, deletedBaseId],
    document: [document.id, deletedDocument.id, lostDocument.id],
    connector: [connectorId, deletedConnectorId],
    customAction: [actionId, deletedActionId],
    export: [exported.id],
    external: [],
  };
  return { ada, eve, browser, agentId, sessionId, documentId: document.id, things, own };
}

story(
  "an absent object and another tenant's object get the same response in every operation with an id",
  async (t, mesh) => {
    const { ada, eve, browser, agentId, sessionId, documentId, things, own } = await twoTenants(mesh);
    const read = () =>
      Promise.all([
        readSession(ada, sessionId),
        readAgent(ada, agentId),
        readKnowledgeDocument(ada, documentId),
        ada.value('{ knowledgeBases { id name updatedAt } }'),
        ada.value('{ mcpConnectors { id name serverUrl updatedAt } }'),
        ada.value('{ customActions { id name url updatedAt } }'),
        ada.value('{ workflows { id name draft publishedVersion updatedAt } }'),
      ]);
    const before = await read();
    const walked = await idArguments(eve, own);
    t.deepEqual(
      walked.flatMap(({ name, kind }) => (kind ? [] : [name])),
      [],
      'let kindOf find what these ids name',
    );

    const ours = walked.filter(({ kind }) => kind !== 'external');
    const untried = kinds.filter((kind) => ours.every((argument) => argument.kind !== kind));
    t.deepEqual(untried, [], 'no operation takes an id of these');
    const nobodys = nobodysIds(ours);
    for (const argument of ours) {
      const { name, kind } = argument;
      const foreign = things[kind ?? 'external'];
      t.true(foreign.length > 0, `nothing of another tenant's is tried as ${name}`);
      const about = (id: string | number) => `${name}: ${JSON.stringify(String(id).slice(0, 20))}`;
      const stranger = isForBrowsers(argument.operation) ? browser : eve;
      const reference = await asked(stranger, argument, 900_000_000);
      assertNothingThere(t, argument, reference, about(900_000_000));
      for (const id of [...foreign, ...nobodys(argument)]) {
        t.is(await asked(stranger, argument, id), reference, about(id));
      }
    }

    const after = await read();
    t.like(after[0], { status: 'ACTIVE', interruptCount: before[0].interruptCount });
    t.deepEqual(after.slice(1), before.slice(1));

    // The owner may use the id that the stranger may not use.
    const [workflowId] = things.workflow;
    const attach =
      'mutation ($id: ID!, $workflowId: Int!) { updateAgent(id: $id, input: { workflowId: $workflowId }) { workflowId } }';
    t.deepEqual(await ada.query(attach, { id: agentId, workflowId }), { updateAgent: { workflowId } });
  },
);

story(
  'an id that is not a 32-bit number is refused where a number is required, before anything runs',
  async (t, mesh) => {
    const ada = await mesh.person();
    const agentId = await createAgent(ada);
    const { id: sessionId } = await startSession(ada, agentId);
    const walked = (await idArguments(ada, { agentId, sessionId })).filter(({ type }) => type === 'Int');
    t.true(walked.length >= 6);
    const before = await Promise.all([readSession(ada, sessionId), readAgent(ada, agentId)]);
    for (const { operation, name, variables } of walked) {
      for (const id of noInts) {
        const { status, errors, data } = await ada.send(operation.document, variables(id));
        const about = `${name}: ${JSON.stringify(id)}`;
        t.is(status, 400, about);
        t.is(errors?.length, 1, about);
        t.like(errors?.[0]?.extensions, { code: 'BAD_USER_INPUT', statusCode: 400 }, about);
        t.falsy(data, about);
      }
    }
    t.deepEqual(await Promise.all([readSession(ada, sessionId), readAgent(ada, agentId)]), before);
    t.like(await ada.query('{ sessionCount agentCount }'), { sessionCount: 1, agentCount: 1 });
  },
);

story(
  "an API key finds another tenant's objects no more than absent ones, and its own only in operations for API keys",
  async (t, mesh) => {
    const { eve, things, own } = await twoTenants(mesh);
    const key = Object.assign(eve.at(eve.url), { apiKey: eve.apiKey, tokens: undefined });
    const walked = await idArguments(eve, own);
    const nobodys = nobodysIds(walked);
    for (const argument of walked) {
      const { operation, name, kind = 'external' } = argument;
      const accepted = operation.by;
      if (accepted.length === 0 || kind === 'external') continue; // a public operation, or an id that does not name a tenant's object
      const about = (id: string | number) => `${name}: ${id}`;
      const reference = await asked(key, argument, 900_000_000);
      const isTaken = accepted.includes('API_KEY');
      if (isTaken) assertNothingThere(t, argument, reference, about(900_000_000));
      else t.regex(reference, /\bUNAUTHENTICATED\b/, about(900_000_000));
      const owned: Partial<Record<typeof kind, number>> = {
        agent: own.agentId,
        session: own.sessionId,
        base: own.baseId,
        document: own.documentId,
        connector: own.connectorId,
        customAction: own.actionId,
        workflow: own.workflowId,
      };
      const owns = owned[kind] ?? [];
      const others = [...things[kind], ...nobodys(argument)];
      for (const id of isTaken ? others : others.concat(owns)) {
        t.is(await asked(key, argument, id), reference, about(id));
      }
    }
  },
);

story('a deleted agent gets the same response as an absent one in every operation with its id', async (t, mesh) => {
  const { person } = mesh;
  const ada = await person();
  ({ apiKey: ada.apiKey } = await ada.withApiKey());
  const agentId = await createAgent(ada);
  await ada.query('mutation ($id: ID!) { deleteAgent(id: $id) }', { id: agentId });
  // The audit log and sessions of a deleted agent stay readable. allow-name sessions: this story deletes their agent.
  const walked = (await idArguments(ada, { agentId, sessionId: 1 })).filter(
    ({ operation, kind }) => kind === 'agent' && !['agentAuditLogs', 'sessions'].includes(operation.name),
  );
  t.true(walked.length >= 4);
  for (const argument of walked) {
    t.is(await asked(ada, argument, agentId), await asked(ada, argument, 900_000_000), argument.name);
  }
});

story("another tenant's objects are in no list and no count", async (t, mesh) => {
  const { eve, own } = await twoTenants(mesh);
  const listed = await eve.query<{
    agents: { id: number }[];
    agentCount: number;
    sessions: { id: number }[];
    sessionCount: number;
    knowledgeBases: { id: number }[];
    mcpConnectors: { id: number }[];
    customActions: { id: number }[];
    workflows: { id: number }[];
  }>(`{ agents { id } agentCount sessions { id } sessionCount knowledgeBases { id }
    mcpConnectors { id } customActions { id } workflows { id } }`);
  t.deepEqual(listed.workflows, [{ id: own.workflowId }]);
  const { agents, agentCount, sessions, sessionCount, knowledgeBases, mcpConnectors, customActions } = listed;
  t.deepEqual(knowledgeBases, [{ id: own.baseId }]);
  t.deepEqual(mcpConnectors, [{ id: own.connectorId }]);
  t.deepEqual(customActions, [{ id: own.actionId }]);
  t.deepEqual(agents, [{ id: own.agentId }]);
  t.is(agentCount, 1);
  t.deepEqual(
    sessions.map(({ id }) => id),
    [own.sessionId, own.embeddedId],
  );
  t.is(sessionCount, 2);
});

story('operations with an id require a credential, whatever the id', async (t, mesh) => {
  const { ada, agentId, sessionId } = await twoTenants(mesh);
  const { visitor } = mesh;
  for (const argument of await idArguments(ada, { agentId, sessionId })) {
    if (argument.operation.by.length === 0) continue;
    for (const id of [sessionId, 900_000_000]) {
      const answer = await asked(visitor(), argument, id);
      t.regex(answer, /\bUNAUTHENTICATED\b|4403/, argument.name);
      t.false(answer.includes('NOT_FOUND'));
      if (argument.operation.kind !== 'subscription') t.regex(answer, /^\{"status":200,/, argument.name);
    }
  }
});

/**
 * Sends the operation with this id, and returns the response as text with the id replaced, so that two responses can be compared byte by
 * byte.
 */
async function asked(client: Client, argument: IdArgument, id: string | number): Promise<string> {
  const value = argument.type === 'ID' ? String(id) : id;
  if (argument.operation.kind === 'subscription') return withoutId(await refusedSubscription(client, String(id)), id);
  // An unused client address, which no throttle has counted.
  const sender = argument.operation.throttle ? Object.assign(client.at(client.url), { apiKey: client.apiKey }) : client;
  const { status, text, headers } = await sender.send(argument.operation.document, argument.variables(value));
  const shown = [...headers].filter(([name]) => !['date', 'x-request-id', 'content-length'].includes(name));
  return withoutId(JSON.stringify({ status, shown, text }), id);
}

async function refusedSubscription(client: Client, id: string): Promise<string> {
  const events = client.subscribe(id, { after: '0' });
  try {
    const errors = await events.until('the refusal', ({ errors, closed }) => errors ?? (closed && [closed]));
    return JSON.stringify(errors);
  } finally {
    await events.close();
  }
}

function withoutId(text: string, id: string | number): string {
  const whole = String(id);
  const shown = whole.length > 40 ? `${whole.slice(0, 40)}…` : whole;
  const escaped = JSON.stringify(shown).slice(1, -1);
  const twice = JSON.stringify(escaped).slice(1, -1);
  return text.replaceAll(` ${twice} `, ' <id> ').replaceAll(` ${escaped} `, ' <id> ');
}

function assertNothingThere(t: ExecutionContext, { operation }: IdArgument, answer: string, about: string): void {
  const { kind, name, field } = operation;
  if (kind === 'subscription') {
    t.like((JSON.parse(answer) as GraphError[])[0]?.extensions, { code: 'NOT_FOUND', statusCode: 404 }, about);
    return;
  }
  const { status, text } = JSON.parse(answer) as { status: number; text: string };
  t.is(status, 200, about);
  const { data, errors } = JSON.parse(text) as Pick<Answer<Record<string, unknown>>, 'data' | 'errors'>;
  const isNullable = !isNonNullType(field.type);
  const isList = isListType(getNullableType(field.type));
  if (kind === 'query' && (isNullable || isList) && !saysSo.has(name)) {
    t.is(errors, undefined, about);
    t.deepEqual(data?.[name], isList ? [] : null, about);
  } else {
    t.is(errors?.length, 1, about);
    const expected = isForBrowsers(operation)
      ? { code: 'FORBIDDEN', statusCode: 403 }
      : { code: 'NOT_FOUND', statusCode: 404 };
    t.like(errors?.[0]?.extensions, expected, about);
  }
}

async function readAgent(client: Client, id: number) {
  const { agent } = await client.query('query ($id: ID!) { agent(id: $id) { id name status updatedAt } }', { id });
  return agent;
}
