import { isJsonObject } from '@parley/kernel/json';
import {
  type EventAdapter,
  errorFields,
  type Fields,
  figuresIn,
  objectsIn,
  stringIn,
  textsAt,
} from './event-fields.ts';

/**
 * Adapts the chunks of one answer in OpenAI's chat completions format, including the variants that other vendors' servers send. An error in
 * or beside a choice becomes a separate event, never the end of an answer. A refusal counts as text that a content filter ended.
 * @param onThought called with thoughts; without this callback, thoughts stay in the chunk, for an SDK that knows them
 */
export function openaiEvents(onThought?: (thought: string) => void): EventAdapter {
  let hasRefused = false;

  function deltaOf(given: Fields): Fields {
    const { text, thought: spoken } = contentOf(given['content']);
    const refusal = stringIn(given['refusal']) ?? '';
    hasRefused ||= refusal !== '';
    const named = textsAt(given, 'reasoning_content', 'reasoning');
    const thought = spoken || stringIn(Object.values(named)[0]) || detailsOf(given['reasoning_details']);
    if (thought !== '') onThought?.(thought);
    const calls = objectsIn(given['tool_calls']).flatMap(callOf);
    return {
      ...(text + refusal !== '' && { content: text + refusal }),
      ...(!onThought && thought !== '' && (thought === Object.values(named)[0] ? named : { reasoning: thought })),
      ...(calls.length > 0 && { tool_calls: calls }),
    };
  }

  return (event) => {
    const [choice] = objectsIn(event['choices']);
    const error = [event['error'], choice?.['error']].find(
      (given) => stringIn(given) || objectsIn([given]).some(hasFields),
    );
    if (error !== undefined) return { error: errorFields(error) };
    if (event['object'] === 'error') return { error: errorFields(event) };
    const usage = figuresIn(event['usage']);
    if (!choice && !usage) return undefined;
    // A server that ignores `stream` sends one `message` instead of deltas.
    const [said = {}] = objectsIn([choice?.['delta'], choice?.['message']]);
    const delta = deltaOf(said);
    const named = stringIn(choice?.['finish_reason']);
    const reason = named === '' || named === 'null' ? undefined : named; // some servers send '' or 'null' before the end
    const isRefusal = hasRefused && reason === 'stop';
    return {
      ...textsAt(event, 'id', 'model'),
      choices: choice ? [{ index: 0, delta, finish_reason: isRefusal ? 'content_filter' : (reason ?? null) }] : [],
      ...(usage && { usage }),
    };
  };
}

const hasFields = (given: Fields) => Object.keys(given).length > 0;

/** Reads content, which is a string or a list of parts; parts may include thoughts. */
function contentOf(content: unknown): { text: string; thought: string } {
  if (!Array.isArray(content)) return { text: stringIn(content) ?? '', thought: '' };
  const said = (isThought: boolean) =>
    objectsIn(content)
      .filter((part) => 'thinking' in part === isThought)
      .map((part) => (isThought ? thinkingOf(part['thinking']) : (stringIn(part['text']) ?? '')))
      .join('');
  return { text: said(false), thought: said(true) };
}

function thinkingOf(thinking: unknown): string {
  return (
    stringIn(thinking) ??
    objectsIn(thinking)
      .map(({ text }) => stringIn(text) ?? '')
      .join('')
  );
}

function detailsOf(details: unknown): string {
  return objectsIn(details)
    .map(({ text, summary }) => stringIn(text) ?? stringIn(summary) ?? '')
    .join('');
}

/** Adapts a tool call: some servers omit the index, or send arguments as an object. */
function callOf(call: Fields, at: number): Fields[] {
  const { index, function: called, extra_content } = call;
  if (!isJsonObject(called)) return [];
  const given = called['arguments'];
  const text = isJsonObject(given) ? JSON.stringify(given) : stringIn(given);
  return [
    {
      index: typeof index === 'number' ? index : at,
      ...textsAt(call, 'id'),
      function: { ...textsAt(called, 'name'), ...(text !== undefined && { arguments: text }) },
      ...(isJsonObject(extra_content) && { extra_content }),
    },
  ];
}
