import { isJsonObject } from '@parley/kernel/json';
import { type EventAdapter, errorFields, type Fields, figuresIn, stringIn, textsAt } from './event-fields.ts';

/** For each type of content block: the fields that the SDK knows. */
const knownBlocks: Record<string, readonly string[]> = {
  text: ['text'],
  thinking: ['thinking'],
  redacted_thinking: ['data'],
  tool_use: ['id', 'name'],
};
/** For each type of delta: the fields that the SDK knows. */
const knownDeltas: Record<string, readonly string[]> = {
  text_delta: ['text'],
  thinking_delta: ['thinking'],
  signature_delta: ['signature'],
  input_json_delta: ['partial_json'],
};

/** Adapts the events of one answer of Anthropic's Messages API. Unknown events are dropped, as the API's documentation requires. */
export function anthropicEvents(): EventAdapter {
  /** Blocks whose type the SDK does not know. */
  const unknown = new Set<unknown>();

  return (event) => {
    const { type, index } = event;
    switch (type) {
      case 'message_start': {
        const { message } = event;
        if (!isJsonObject(message)) return undefined;
        const usage = { input_tokens: 0, ...figuresIn(message['usage']) };
        return { type, message: { ...textsAt(message, 'id', 'model', 'role', 'stop_reason'), content: [], usage } };
      }
      case 'content_block_start': {
        const block = picked(event['content_block'], knownBlocks);
        if (block) return { type, index, content_block: block };
        unknown.add(index);
        return undefined;
      }
      case 'content_block_delta': {
        const delta = unknown.has(index) ? undefined : picked(event['delta'], knownDeltas);
        return delta && { type, index, delta };
      }
      case 'content_block_stop':
        return unknown.has(index) ? undefined : { type, index };
      case 'message_delta': {
        const { delta } = event;
        const reason = isJsonObject(delta) ? textsAt(delta, 'stop_reason', 'stop_sequence') : {};
        return { type, delta: reason, usage: { output_tokens: 0, ...figuresIn(event['usage']) } };
      }
      case 'error': {
        const { message, type: name } = errorFields(event['error']);
        return { type, error: { message, type: stringIn(name) ?? 'error' } };
      }
      case 'message_stop':
      case 'ping':
        return { type };
      default:
        return undefined;
    }
  };
}

function picked(given: unknown, known: Record<string, readonly string[]>): Fields | undefined {
  if (!isJsonObject(given)) return undefined;
  const { type } = given;
  const names = Object.hasOwn(known, String(type)) ? known[String(type)] : undefined;
  if (!names?.every((name) => typeof given[name] === 'string')) return undefined;
  return { type, ...textsAt(given, ...names), ...(isJsonObject(given['input']) && { input: given['input'] }) };
}
