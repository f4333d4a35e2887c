import type {
  LanguageModelV3CallOptions,
  LanguageModelV3FilePart,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
  LanguageModelV3ReasoningPart,
  LanguageModelV3TextPart,
  LanguageModelV3ToolCallPart,
  LanguageModelV3ToolResultPart,
} from '@ai-sdk/provider';
import { isJsonObject } from '@parley/kernel/json';
import { alternateRoles } from './alternate-roles.ts';
import type {
  ConversationMessage,
  Model,
  ModelMessage,
  ModelRequest,
  ReplayMetadata,
  ToolCall,
  ToolCallReplay,
} from './model.ts';
import { foreignCallId, wireName } from './tool-names.ts';
import { hasTools } from './tool-prompt.ts';
import { declaredTool } from './tool-schema.ts';

export interface PromptedModel extends Pick<Model, 'providerId' | 'modelId' | 'vision' | 'maxOutputTokens'> {
  /** The maximum length of a tool's description in the wire format of the model. */
  maxToolDescription: number;
}

/** Converts a request for the SDKs. Each SDK puts the system prompt where its format requires it. */
export function callOptions(
  request: ModelRequest,
  model: PromptedModel,
  abortSignal: AbortSignal,
): LanguageModelV3CallOptions {
  const { vision, maxOutputTokens } = model;
  const { system, messages, json, tools = [] } = alternateRoles(request);
  const prompt = messages.map((message) => promptOf(message, messages, model));
  const last = prompt.findLast((message) => message.role === 'user');
  if (vision) last?.content.push(...(request.images ?? []).flatMap(imagePart));
  if (system !== '') prompt.unshift({ role: 'system', content: system.toWellFormed() });
  return {
    prompt,
    maxOutputTokens: Math.min(request.maxOutputTokens ?? maxOutputTokens, maxOutputTokens),
    ...(json && { responseFormat: { type: 'json', schema: json.schema, name: json.name } }),
    ...(hasTools(request) && {
      tools: [...new Map(tools.map((tool) => [wireName(tool.name), tool])).values()].map(
        (tool): LanguageModelV3FunctionTool => {
          const { description, inputSchema } = declaredTool(tool);
          const name = wireName(tool.name);
          const bounded = description.slice(0, model.maxToolDescription).toWellFormed();
          return { type: 'function', name, ...(bounded !== '' && { description: bounded }), inputSchema };
        },
      ),
    }),
    abortSignal,
  };
}

function promptOf(
  message: ModelMessage,
  messages: readonly ModelMessage[],
  model: PromptedModel,
): LanguageModelV3Message {
  if (message.role === 'tool') {
    const calls = messages[messages.indexOf(message) - 1];
    const idOf = idsOf(calls?.role === 'assistant' ? (calls.toolCalls ?? []) : [], model);
    return {
      role: 'tool',
      content: message.results.map(({ callId, name, text, isError }): LanguageModelV3ToolResultPart => {
        const output = { type: isError ? ('error-text' as const) : ('text' as const), value: text.toWellFormed() };
        return { type: 'tool-result', toolCallId: idOf(callId), toolName: wireName(name), output };
      }),
    };
  }
  if (message.role === 'assistant' && message.toolCalls?.length) {
    return { role: 'assistant', content: partsOf(message, message.toolCalls, model) };
  }
  return { role: message.role, content: [textPart(message.text)] };
}

type AssistantPart = LanguageModelV3TextPart | LanguageModelV3ReasoningPart | LanguageModelV3ToolCallPart;

/**
 * Returns the text and the tool calls of an assistant's message. For the model that wrote them, text and calls keep their original order;
 * for any other model, the text comes first.
 */
function partsOf({ text }: ConversationMessage, calls: readonly ToolCall[], model: PromptedModel): AssistantPart[] {
  const idOf = idsOf(calls, model);
  const replays = calls.map((call) => replayFor(call, model));
  const written = replays.flatMap((replay) => replay?.before.filter(({ type }) => type === 'text') ?? []);
  const isWhole = written.map((part) => part.text).join('') === text;
  const parts = calls.flatMap((call, at): AssistantPart[] => {
    const { before = [], metadata } = replays[at] ?? {};
    return [
      ...before
        .filter(({ type }) => isWhole || type === 'reasoning')
        .map((part) => ({ type: part.type, text: part.text, ...optionsOf(part.metadata) })),
      {
        type: 'tool-call',
        toolCallId: idOf(call.callId),
        toolName: wireName(call.name),
        input: isJsonObject(call.arguments) ? call.arguments : {},
        ...optionsOf(metadata),
      },
    ];
  });
  if (isWhole || text.trim() === '') return parts;
  const firstCall = parts.findIndex(({ type }) => type === 'tool-call');
  return parts.toSpliced(firstCall, 0, textPart(text));
}

function replayFor({ replay }: ToolCall, { providerId, modelId }: PromptedModel): ToolCallReplay | undefined {
  return replay?.providerId === providerId && replay.modelId === modelId ? replay : undefined;
}

/** Maps the ids of tool calls. The model that made a call gets its own id back; any other model gets a substitute. */
function idsOf(calls: readonly ToolCall[], model: PromptedModel): (callId: string) => string {
  const own = new Set(calls.filter((call) => replayFor(call, model)).map(({ callId }) => callId));
  return (callId) => (own.has(callId) ? callId : foreignCallId(callId));
}

function optionsOf(metadata: ReplayMetadata | undefined) {
  return metadata && { providerOptions: metadata };
}

function textPart(text: string): LanguageModelV3TextPart {
  return { type: 'text', text: text.toWellFormed() };
}

/** Images are sent as bytes, because an SDK would fetch a URL. */
function imagePart(url: string): LanguageModelV3FilePart[] {
  const { mediaType, data } = /^data:(?<mediaType>image\/[a-z]+);base64,(?<data>[\w+/=]+)$/u.exec(url)?.groups ?? {};
  return mediaType === undefined || data === undefined ? [] : [{ type: 'file', mediaType, data }];
}
