import { randomBytes, randomInt } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { hasCode } from '@parley/kernel/errors';
import { exampleAgent } from './example-agent.ts';

/** The data that the page's server stores. A real customer of Parley would store the key as a secret. */
interface DemoTenant {
  apiKey: string;
  agentId: number;
}

export interface DemoSession {
  sessionId: number;
  token: string;
  agentName: string;
  /** The name of the agent's voice. */
  voiceName: string;
  language: string;
}

interface GraphError {
  message: string;
  extensions?: { code?: string; reason?: string };
}

/** A GraphQL error in a response of the API. */
class Refusal extends Error {
  readonly code: string | undefined;
  readonly reason: string | undefined;

  constructor({ message, extensions }: GraphError) {
    super(message);
    this.code = extensions?.code;
    this.reason = extensions?.reason;
  }
}

const register = 'mutation ($input: RegisterInput!) { register(input: $input) { accessToken } }';
const createAgent = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id } }';
const generateApiKey = 'mutation { generateApiKey { key } }';
const sdkStart =
  'mutation ($input: SdkStartInput!) { sdkStart(input: $input) { sessionId avatarToken ttsVoice ttsLang } }';

/**
 * Starts sessions for the demo page as a customer's server does: with a tenant's API key. Creates the tenant for the first session, and
 * stores it in a file that only its owner can read. Creates another tenant only if the API no longer knows the key or the agent.
 * @param endpoint the GraphQL endpoint
 */
export function demoSessions(endpoint: string, file: string) {
  let tenant: Promise<DemoTenant> | undefined;

  /** Lets concurrent requests share a tenant. After a failure, the next request tries again. */
  function share(promise: Promise<DemoTenant>): Promise<DemoTenant> {
    tenant = promise;
    promise.catch(() => {
      if (tenant === promise) tenant = undefined;
    });
    return promise;
  }

  return async (): Promise<DemoSession> => {
    const used = tenant ?? share(findTenant(endpoint, file));
    const known = await used;
    try {
      return await startSession(endpoint, known);
    } catch (error) {
      if (!isGone(error)) throw error;
      // Another request may have replaced the tenant.
      const next = tenant && tenant !== used ? tenant : share(keepNewTenant(endpoint, file));
      return startSession(endpoint, await next);
    }
  };
}

/** Reports whether a refusal means that the tenant belongs to another database, or that the tenant or its agent was deleted. */
function isGone(error: unknown): boolean {
  if (!(error instanceof Refusal)) return false;
  return error.code === 'UNAUTHENTICATED' || error.code === 'NOT_FOUND' || error.reason === 'NO_TENANT';
}

async function startSession(endpoint: string, { apiKey, agentId }: DemoTenant): Promise<DemoSession> {
  const input = { agentId, clientId: 'demo' };
  const started = await call<{
    sdkStart: { sessionId: number; avatarToken: string; ttsVoice: string; ttsLang: string };
  }>(endpoint, sdkStart, { input }, { 'x-api-key': apiKey });
  const { sessionId, avatarToken: token, ttsVoice: voiceName, ttsLang: language } = started.sdkStart;
  return { sessionId, token, agentName: exampleAgent.name, voiceName, language };
}

async function findTenant(endpoint: string, file: string): Promise<DemoTenant> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as DemoTenant;
  } catch (error) {
    if (!hasCode(error, 'ENOENT') && !(error instanceof SyntaxError)) throw error;
    return keepNewTenant(endpoint, file);
  }
}

async function keepNewTenant(endpoint: string, file: string): Promise<DemoTenant> {
  const made = await makeTenant(endpoint);
  await writeFile(file, `${JSON.stringify(made)}\n`, { mode: 0o600 });
  return made;
}

async function makeTenant(endpoint: string): Promise<DemoTenant> {
  const input = {
    email: `demo-${randomBytes(6).toString('hex')}@example.com`,
    password: randomBytes(18).toString('base64url'),
    fullname: 'Demo',
    phoneCode: '+44',
    phoneNumber: `7700${randomInt(1_000_000).toString().padStart(6, '0')}`, // a valid number that belongs to nobody
  };
  const { accessToken } = (await call<{ register: { accessToken: string } }>(endpoint, register, { input })).register;
  const headers = { authorization: `Bearer ${accessToken}` };
  const agent = await call<{ createAgent: { id: number } }>(endpoint, createAgent, { input: exampleAgent }, headers);
  const made = await call<{ generateApiKey: { key: string } }>(endpoint, generateApiKey, {}, headers);
  return { agentId: agent.createAgent.id, apiKey: made.generateApiKey.key };
}

/**
 * Calls the API.
 * @throws Refusal if the response contains an error
 * @throws Error if the API cannot be reached or returns no data
 */
async function call<Data>(endpoint: string, query: string, variables: object, headers: object = {}): Promise<Data> {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-app-platform': 'customer', ...headers },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data?: Data; errors?: GraphError[] };
  if (errors?.[0]) throw new Refusal(errors[0]);
  if (!data) throw new Error(`The API answered ${response.status} without data`);
  return data;
}
