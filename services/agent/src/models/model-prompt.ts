import type { LanguageModelV3CallOptions, LanguageModelV3FilePart, LanguageModelV3Message } from '@ai-sdk/provider';
import { alternateRoles } from './alternate-roles.ts';
import type { Model, ModelRequest } from './model.ts';

/** A request as the SDKs take it; each puts the system prompt in its format's own place. */
export function callOptions(
  request: ModelRequest,
  { vision, maxOutputTokens: most }: Pick<Model, 'vision' | 'maxOutputTokens'>,
  abortSignal: AbortSignal,
): LanguageModelV3CallOptions {
  const { system, messages, json } = alternateRoles(request);
  const prompt = messages.map(
    ({ role, text }): LanguageModelV3Message => ({
      role,
      content: [{ type: 'text', text: text.toWellFormed() }],
    }),
  );
  const last = prompt.at(-1);
  if (vision && last?.role === 'user') last.content.push(...(request.images ?? []).flatMap(imagePart));
  if (system !== '') prompt.unshift({ role: 'system', content: system.toWellFormed() });
  return {
    prompt,
    maxOutputTokens: Math.min(request.maxOutputTokens ?? most, most),
    ...(json && { responseFormat: { type: 'json', schema: json.schema, name: json.name } }),
    abortSignal,
  };
}

/** Always as bytes: an SDK would fetch a URL. */
function imagePart(url: string): LanguageModelV3FilePart[] {
  const { mediaType, data } = /^data:(?<mediaType>image\/[a-z]+);base64,(?<data>[\w+/=]+)$/u.exec(url)?.groups ?? {};
  return mediaType === undefined || data === undefined ? [] : [{ type: 'file', mediaType, data }];
}
