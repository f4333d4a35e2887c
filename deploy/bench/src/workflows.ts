import { Client } from '@parley/stories/client';
import { createAgent } from '@parley/stories/conversation';
import { attachWorkflow, createWorkflow, publishWorkflow } from '@parley/stories/workflows';
import { modelAnswerMs, openTalker } from './client.ts';
import { type Figure, figure, median, medianOf, oneByOne } from './figures.ts';
import { type BenchOptions, limits, openPlace } from './processes.ts';
import { content } from './turns.ts';

const conditions = 20;
const held = 4;

type Nodes = Record<string, object>;

/**
 * Measures the delay that a workflow adds to the first chunk of a plain turn: in total, for each node without a model call, and for each
 * model call.
 */
export async function workflowsFigures(options: BenchOptions): Promise<Figure[]> {
  const { rounds, short, say } = options;
  await using place = await openPlace(options);
  say('one process');
  await using mesh = await place.start(limits);
  await using talkers = new AsyncDisposableStack();
  const [url = ''] = mesh.urls;
  const owner = new Client(url);
  await owner.register();

  async function talkerOf(nodes?: Nodes) {
    const agentId = await createAgent(owner);
    if (nodes) {
      const workflowId = await createWorkflow(owner, { draft: { version: 1, start: Object.keys(nodes)[0], nodes } });
      await publishWorkflow(owner, workflowId);
      await attachWorkflow(owner, agentId, workflowId);
    }
    return talkers.use(await openTalker(owner.at(url), agentId));
  }

  const systems = {
    plain: await talkerOf(),
    writing: await talkerOf(writing),
    checking: await talkerOf({ ...checks(), ...writing }),
    drafting: await talkerOf({ ...drafts(), ...writing }),
  };
  const messages = short ? 2 : 100;
  const times = async (name: keyof typeof systems) =>
    median(await oneByOne(messages, () => systems[name].firstChunkMs(content)));
  /** Measures the variants one after the other, so that other load of the machine affects all of them equally. */
  async function round() {
    const plain = await times('plain');
    const alone = await times('writing');
    const checked = await times('checking');
    const drafted = await times('drafting');
    const model = median(await oneByOne(messages, () => modelAnswerMs(mesh.modelUrl, content)));
    return { plain, alone, checked, drafted, model };
  }

  say('warm-up');
  await round();
  say(`first chunks of workflows, ${rounds} rounds`);
  const measured = await oneByOne(rounds, round);
  const show = (name: string, pick: (each: (typeof measured)[number]) => number) =>
    figure(name, medianOf(measured, pick), 'ms');
  return [
    show('first chunk of a plain turn, p50', ({ plain }) => plain),
    show('a workflow of one model over that', ({ alone, plain }) => alone - plain),
    show('each condition before it', ({ checked, alone }) => (checked - alone) / conditions),
    show(
      "each model before it over the model's own answer",
      ({ drafted, alone, model }) => (drafted - alone) / held - model,
    ),
    show("the model's own answer", ({ model }) => model),
  ];
}

const writing: Nodes = {
  write: { kind: 'llm', prompt: '{{ message }}', output: 'text', next: 'say' },
  say: { kind: 'response', text: '{{ variables.text }}' },
};

function checks(): Nodes {
  const cases = (next: string) => [{ when: "message == 'nothing like it'", next }];
  const entries = Array.from({ length: conditions }, (_, n) => {
    const next = n + 1 < conditions ? `check${n + 1}` : 'write';
    return [`check${n}`, { kind: 'condition', cases: cases(next), otherwise: next }];
  });
  return Object.fromEntries(entries);
}

function drafts(): Nodes {
  const entries = Array.from({ length: held }, (_, n) => {
    const next = n + 1 < held ? `draft${n + 1}` : 'write';
    return [`draft${n}`, { kind: 'llm', prompt: '{{ message }}', output: 'draft', next }];
  });
  return Object.fromEntries(entries);
}
