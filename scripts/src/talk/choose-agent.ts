import type { Api } from './api.ts';

export interface ChosenAgent {
  id: number;
  name: string;
}

const agents = `{ agents { id name status } }`;
const agent = `query ($id: ID!) { agent(id: $id) { id name } }`;
const create = `mutation ($input: CreateAgentInput!) { createAgent(input: $input) { id name } }`;

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

/** The agent asked for, else the newest active one, else an example that is made now. */
export async function chooseAgent(api: Api, wanted: string | undefined): Promise<ChosenAgent> {
  if (wanted) {
    const found = await api.call<{ agent: ChosenAgent | null }>(agent, { id: wanted });
    if (!found.agent) throw new Error(`There is no agent ${wanted} in this tenant`);
    return found.agent;
  }
  const all = await api.call<{ agents: (ChosenAgent & { status: string })[] }>(agents);
  const newest = all.agents.findLast(({ status }) => status === 'ACTIVE');
  if (newest) return newest;
  const made = await api.call<{ createAgent: ChosenAgent }>(create, { input: example });
  return made.createAgent;
}
