import test from 'ava';
import type { ModelMessage, ToolCallReplay } from './model.ts';
import { callOptions } from './model-prompt.ts';
import { toolReplays } from './tool-replay.ts';

const model = { providerId: 'P', modelId: 'm', vision: false, maxOutputTokens: 9, maxToolDescription: 20 };
const tools = [{ name: 'clock', description: 'Tells the time of day, wherever.', inputSchema: {} }];

function asked(text: string, replay: ToolCallReplay, of = model) {
  const messages: ModelMessage[] = [
    { role: 'user', text: 'When?' },
    { role: 'assistant', text, toolCalls: [{ callId: 'c', name: 'clock', arguments: [1], replay }] },
    { role: 'tool', results: [{ callId: 'c', name: 'clock', text: 'noon', isError: false }] },
  ];
  return callOptions({ system: '', messages, tools }, of, new AbortController().signal);
}

const before = [
  { type: 'text' as const, text: 'I ' },
  { type: 'reasoning' as const, text: 'hm', metadata: { anthropic: { signature: 's' } } },
  { type: 'text' as const, text: 'look.' },
];
const replay = { providerId: 'P', modelId: 'm', before };

test('a model gets its own text and calls back in their original order', (t) => {
  t.like(asked('I look.', replay).prompt[2], {
    role: 'assistant',
    content: [
      { type: 'text', text: 'I ' },
      { type: 'reasoning', text: 'hm', providerOptions: { anthropic: { signature: 's' } } },
      { type: 'text', text: 'look.' },
      { type: 'tool-call', toolCallId: 'c', input: {} },
    ],
  });
  const changed = asked('Other words.', replay).prompt[2];
  t.deepEqual(changed?.role === 'assistant' && changed.content.map(({ type }) => type), [
    'reasoning',
    'text',
    'tool-call',
  ]);
  const elsewhere = asked('I look.', replay, { ...model, modelId: 'another' }).prompt[2];
  t.deepEqual(elsewhere?.role === 'assistant' && elsewhere.content.map(({ type }) => type), ['text', 'tool-call']);
});

test('the description of a tool is cut to the maximum of the format', (t) => {
  t.like(asked('', replay).tools, [{ type: 'function', name: 'clock', description: 'Tells the time of da' }]);
});

test('unsigned thoughts go back only to servers that name them reasoning_content', (t) => {
  for (const [field, kept] of [
    ['reasoning_content', [{ type: 'reasoning', text: 'hm' }]],
    ['reasoning', []],
  ] as const) {
    const replays = toolReplays(model);
    replays.read({ type: 'raw', rawValue: { choices: [{ delta: { [field]: 'hm' } }] } });
    replays.read({ type: 'reasoning-start', id: '0' });
    replays.read({ type: 'reasoning-delta', id: '0', delta: 'hm' });
    t.deepEqual(replays.take(undefined).before, kept);
  }
});
