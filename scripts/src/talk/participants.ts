import { randomBytes, randomInt } from 'node:crypto';
import { type Api, type Tokens, tokenFields } from './api.ts';

const login = `mutation ($input: SignInInput!) { tokens: login(input: $input) { ${tokenFields} } }`;
const register = `mutation ($input: RegisterInput!) { tokens: register(input: $input) { ${tokenFields} } }`;

/** The account and the agent: an email address and password, both or none, the id of an agent, and text files for it to read. */
export type TalkOptions = Partial<Record<'email' | 'password' | 'agent', string | undefined>> & {
  knowledge?: readonly string[] | undefined;
};

/** Signs in with the given credentials, or registers a temporary account and returns its password. */
export async function enter(api: Api, { email, password }: TalkOptions) {
  if (Boolean(email) !== Boolean(password)) throw new Error('Give both an email address and a password, or none');
  const guest = {
    email: `guest-${randomBytes(6).toString('hex')}@example.com`,
    password: randomBytes(12).toString('base64url'),
    fullname: 'Guest',
    phoneCode: '+44',
    phoneNumber: `7700${randomInt(0, 1_000_000).toString().padStart(6, '0')}`, // valid, but not assigned
  };
  const input = email ? { email, password } : guest;
  api.signIn((await api.call<{ tokens: Tokens }>(email ? login : register, { input })).tokens);
  return input;
}

const example = {
  name: 'Robin',
  position: 'Guide to Parley',
  subject: 'conversational agents',
  useCase: 'ONBOARDING',
  openingGreeting: 'Hello, I am Robin. Ask me what Parley is and what you can build with it.',
  personaPrompt: `You are Robin, a friendly guide to Parley.
Parley is a self-hosted platform for conversational AI agents. A tenant describes an agent by its persona, its voice, a workflow and knowledge.
People talk to an agent from the dashboard or embedded in a product. Replies are streamed word by word over a subscription.
When a session ends it is evaluated in the background, with a score, strengths, weaknesses and a recommendation.
Knowledge bases hold documents that replies draw on. Agents call tools over MCP and REST actions.
Spend is metered and capped per month and tenant. No tenant ever sees the data of another tenant.
Teams deploy Parley on Kubernetes with Helm and scale each service on its own.
Answer briefly, and ask what the person wants to build.`,
};

interface Agent {
  id: number;
  name: string;
}

/** The given agent, or the newest active one, or an example that is created. */
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
  return (await api.call<{ createAgent: Agent }>(create, { input: example })).createAgent;
}
