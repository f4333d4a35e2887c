import { randomUUID } from 'node:crypto';
import {
  InvalidResponseDataError,
  type LanguageModelV3StreamPart,
  type LanguageModelV3ToolCall,
} from '@ai-sdk/provider';
import { parseJson } from '@parley/kernel/json';
import type { Model, ModelRequest, ToolCallEvent } from './model.ts';
import { wireName } from './tool-names.ts';
import { toolReplays } from './tool-replay.ts';

/** Maximum nesting of arguments. Deeper arguments count as malformed, so that no code that handles them overflows the stack. */
const maxArgumentsDepth = 100;

export type ToolCallReader = ReturnType<typeof toolCallReader>;

/** Reads the tool calls of one answer. */
export function toolCallReader({ tools = [] }: ModelRequest, model: Pick<Model, 'providerId' | 'modelId'>) {
  const names = new Map(tools.map(({ name }) => [wireName(name), name]));
  const replays = toolReplays(model);
  const ids = new Set<string>();

  function uniqueId(id: string): string {
    let unique = id;
    for (let n = 2; ids.has(unique); n += 1) unique = `${id}-${n}`;
    ids.add(unique);
    return unique;
  }

  function eventOf({ toolCallId, toolName, input, providerMetadata }: LanguageModelV3ToolCall): ToolCallEvent {
    const argumentsText = input.toWellFormed();
    return {
      type: 'toolCall',
      callId: uniqueId(toolCallId),
      name: names.get(toolName) ?? toolName.toWellFormed(),
      arguments: argumentsIn(argumentsText),
      argumentsText,
      replay: replays.take(providerMetadata),
    };
  }

  return {
    wrote: replays.wrote,
    read: (part: LanguageModelV3StreamPart) => replays.read(part),
    get hasCalls() {
      return ids.size > 0;
    },
    eventOf,
    /** Returns the event of a call without a name; the SDKs of OpenAI's format do not pass on such a call. */
    nameless: () => eventOf({ type: 'tool-call', toolCallId: `call_${randomUUID()}`, toolName: '', input: '' }),
  };
}

/** Reports whether an SDK rejected an answer because a call in it has no name. */
export function isNamelessCall(thrown: unknown): boolean {
  return InvalidResponseDataError.isInstance(thrown) && thrown.message.includes('function.name');
}

/** Parses the arguments of a call. An empty string becomes an empty object, because many models write it for a tool without parameters. */
function argumentsIn(text: string): unknown {
  if (text.trim() === '') return {};
  const value = parseJson(text);
  return isWithin(value, maxArgumentsDepth) ? value : undefined;
}

function isWithin(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return depth > 0 && Object.values(value).every((each) => isWithin(each, depth - 1));
}
