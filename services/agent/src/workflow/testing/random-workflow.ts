import type { Json, WorkflowDefinition, WorkflowNode } from '../definition.ts';
import type { EffectOutcome, WorkflowEffect } from '../state.ts';

export type Random = () => number;

/** Deterministic numbers in [0, 1) for a seed (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Returns a valid definition of up to 80 nodes, with nodes of all kinds and loops through responses. */
export function randomWorkflow(random: Random): WorkflowDefinition {
  const upTo = (max: number) => Math.floor(random() * max);
  // Some definitions have more nodes than a turn may run, so that the limit is reached.
  const isLong = random() < 0.05;
  const count = isLong ? 80 : 2 + upTo(random() < 0.2 ? 79 : 15);
  const id = (index: number) => `${'abcdef'[index % 6]}_${index}`;
  const kinds = isLong
    ? (['llm', 'tool'] as const)
    : (['llm', 'router', 'condition', 'tool', 'action', 'response'] as const);
  const nodes: [string, WorkflowNode][] = [];
  // Within a turn a node leads only to later nodes, so that every loop contains a response. The next node is always
  // among the targets.
  const later = (index: number) => id(index + 1 + upTo(Math.min(4, count - 1 - index)));

  for (let index = 0; index < count; index += 1) {
    const isLast = index === count - 1;
    const next = isLast ? '' : id(index + 1);
    const onError = !isLast && isLong ? { onError: next } : random() < 0.3 && !isLast ? { onError: later(index) } : {};
    const output = `v${upTo(5)}`;
    const read = texts[upTo(texts.length)] ?? '';
    const node = (): WorkflowNode => {
      switch (isLast ? 'response' : kinds[upTo(kinds.length)]) {
        case 'llm':
          return { kind: 'llm', prompt: `Say ${read}`, output, next, ...onError };
        case 'router': {
          const routes = Array.from({ length: 1 + upTo(3) }, (_, at) => ({
            label: `l${at}`,
            description: '',
            next: later(index),
          }));
          return { kind: 'router', instruction: `Choose ${read}`, routes, fallback: next, ...onError };
        }
        case 'condition': {
          const cases = Array.from({ length: 1 + upTo(3) }, () => ({
            when: expressions[upTo(expressions.length)] ?? '',
            next: later(index),
          }));
          return { kind: 'condition', cases, otherwise: next };
        }
        case 'tool':
          return {
            kind: 'tool',
            connectorId: 1,
            tool: 'search',
            args: { q: read, deep: [read, 1, null] },
            output,
            next,
            ...onError,
          };
        case 'action':
          return { kind: 'action', actionId: 1, args: { [read]: read }, output, next, ...onError };
        default:
          return {
            kind: 'response',
            text: read,
            ...(isLast ? (random() < 0.5 ? { next: id(upTo(count)) } : {}) : { next }),
          };
      }
    };
    nodes.push([id(index), node()]);
  }
  return {
    version: 1,
    start: id(0),
    variables: Object.fromEntries([0, 1, 2, 3, 4].map((at) => [`v${at}`, at])),
    nodes: Object.fromEntries(nodes),
  };
}

const texts = [
  '{{ variables.v0 }}',
  'a {{ message | upcase }} {{ variables.v1 }}',
  '{% for x in variables.v2 %}{{ x }},{% endfor %}',
  '{{ identity.name | default: "nobody" }} {{ session.metadata.plan }}',
  '{% if variables.v3 == 3 %}three{% else %}{{ variables.v3 }}{% endif %}',
  'plain',
];

const expressions = [
  'variables.v0 == 1',
  'type(variables.v1) == string && variables.v1.contains("a")',
  'message.size() > 3',
  'identity != null && identity.name == "Ada"',
  'type(variables.v2) == list && variables.v2.exists(x, x == 2)',
  'variables.v4.trim() == "x"', // evaluation fails unless the variable is a text
];

/** Returns an outcome that a provider or server might return. */
export function randomOutcome(random: Random, effect: WorkflowEffect): EffectOutcome {
  if (random() < 0.1) return { error: { code: 'UNAVAILABLE', message: 'It is away' } };
  if (effect.kind === 'llm') return { output: outputs[Math.floor(random() * 3)] ?? '' };
  if (effect.kind === 'router') {
    const labels = [...effect.routes.map(({ label }) => label), 'no such label', null];
    return { output: labels[Math.floor(random() * labels.length)] ?? null };
  }
  return { output: outputs[Math.floor(random() * outputs.length)] ?? null };
}

const outputs: Json[] = [
  'x',
  '{{ variables.v0 }}{% for %}',
  'abc',
  [1, 2, 3],
  { constructor: { name: 'n' } },
  3,
  null,
  true,
];
