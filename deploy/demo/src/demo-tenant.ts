import { randomBytes, randomInt } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { exampleAgent } from './example-agent.ts';

/** What the page's server knows: a customer of Parley would keep the key among its secrets. */
interface DemoTenant {
  apiKey: string;
  agentId: number;
}

export interface DemoSession {
  sessionId: number;
  token: string;
  agentName: string;
}

interface GraphError {
  message: string;
  extensions?: { code?: string };
}

const register = 'mutation ($input: RegisterInput!) { register(input: $input) { accessToken } }';
const createAgent = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id } }';
const generateApiKey = 'mutation { generateApiKey { key } }';
const sdkStart = 'mutation ($input: SdkStartInput!) { sdkStart(input: $input) { sessionId avatarToken } }';

/**
 * Starts sessions for the demo page as a customer's server does: with the API key of a tenant. The tenant is made with the first session, and kept
 * in a file that only its owner can read.
 * @param endpoint of GraphQL.
 */
export function demoSessions(endpoint: string, file: string) {
  let tenant: Promise<DemoTenant> | undefined;

  async function start(): Promise<DemoSession> {
    tenant ??= findTenant(endpoint, file);
    const { apiKey, agentId } = await tenant;
    const started = await call<{ sdkStart: { sessionId: number; avatarToken: string } }>(
      endpoint,
      sdkStart,
      { input: { agentId, clientId: 'demo' } },
      { 'x-api-key': apiKey },
    );
    const { sessionId, avatarToken: token } = started.sdkStart;
    return { sessionId, token, agentName: exampleAgent.name };
  }

  return async (): Promise<DemoSession> => {
    try {
      return await start();
    } catch {
      // Of another database, or the agent has been deleted.
      tenant = undefined;
      await rm(file, { force: true });
      return start();
    }
  };
}

async function findTenant(endpoint: string, file: string): Promise<DemoTenant> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as DemoTenant;
  } catch {
    const made = await makeTenant(endpoint);
    await writeFile(file, `${JSON.stringify(made)}\n`, { mode: 0o600 });
    return made;
  }
}

async function makeTenant(endpoint: string): Promise<DemoTenant> {
  const input = {
    email: `demo-${randomBytes(6).toString('hex')}@example.com`,
    password: randomBytes(18).toString('base64url'),
    fullname: 'Demo',
    phoneCode: '+44',
    phoneNumber: `7700${randomInt(1_000_000).toString().padStart(6, '0')}`, // valid, but not assigned
  };
  const { accessToken } = (await call<{ register: { accessToken: string } }>(endpoint, register, { input })).register;
  const headers = { authorization: `Bearer ${accessToken}` };
  const agent = await call<{ createAgent: { id: number } }>(endpoint, createAgent, { input: exampleAgent }, headers);
  const made = await call<{ generateApiKey: { key: string } }>(endpoint, generateApiKey, {}, headers);
  return { agentId: agent.createAgent.id, apiKey: made.generateApiKey.key };
}

/** @throws Error with the message of a refusal. */
async function call<Data>(endpoint: string, query: string, variables: object, headers: object = {}): Promise<Data> {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-app-platform': 'customer', ...headers },
    body: JSON.stringify({ query, variables }),
  });
  const { data, errors } = (await response.json()) as { data?: Data; errors?: GraphError[] };
  if (errors?.[0]) throw new Error(errors[0].message);
  if (!data) throw new Error(`The API answered ${response.status} without data`);
  return data;
}
