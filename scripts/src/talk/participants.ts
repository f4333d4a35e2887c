import { randomBytes, randomInt } from 'node:crypto';
import { exampleAgent } from '@parley/demo/example-agent';
import { type Api, type Tokens, tokenFields } from './api.ts';

const login = `mutation ($input: SignInInput!) { tokens: login(input: $input) { ${tokenFields} } }`;
const register = `mutation ($input: RegisterInput!) { tokens: register(input: $input) { ${tokenFields} } }`;

/** The account and the agent: an email address and a password (both or none), the agent's id, and text files for the agent. */
export type TalkOptions = Partial<Record<'email' | 'password' | 'agent', string | undefined>> & {
  knowledge?: readonly string[] | undefined;
  /** Whether to talk in an embedded session. */
  embed?: boolean | undefined;
  /** The API key that starts embedded sessions. Required with an account, because a new key would revoke the account's current key. */
  apiKey?: string | undefined;
};

/** Signs in with the given credentials, or registers a temporary account and returns its password. */
export async function enter(api: Api, { email, password }: TalkOptions) {
  if (Boolean(email) !== Boolean(password)) throw new Error('Give both an email address and a password, or none');
  const guest = {
    email: `guest-${randomBytes(6).toString('hex')}@example.com`,
    password: randomBytes(12).toString('base64url'),
    fullname: 'Guest',
    phoneCode: '+44',
    phoneNumber: `7700${randomInt(0, 1_000_000).toString().padStart(6, '0')}`, // a valid but unassigned number
  };
  const input = email ? { email, password } : guest;
  api.signIn((await api.call<{ tokens: Tokens }>(email ? login : register, { input })).tokens);
  return input;
}

interface Agent {
  id: number;
  name: string;
}

/** Returns the given agent, else the newest active one, else a new example agent. */
export async function chooseAgent(api: Api, id: string | undefined): Promise<Agent> {
  if (id) {
    const { agent } = await api.call<{ agent?: Agent }>('query ($id: ID!) { agent(id: $id) { id name } }', { id });
    if (!agent) throw new Error(`There is no agent ${id} in this tenant`);
    return agent;
  }
  const { agents } = await api.call<{ agents: (Agent & { status: string })[] }>('{ agents { id name status } }');
  const newest = agents.findLast(({ status }) => status === 'ACTIVE');
  if (newest) return newest;
  const create = 'mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id name } }';
  return (await api.call<{ createAgent: Agent }>(create, { input: exampleAgent })).createAgent;
}
