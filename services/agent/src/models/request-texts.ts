import { alternateRoles } from './alternate-roles.ts';
import type { ModelMessage, ModelRequest } from './model.ts';
import { argumentsText, hasTools } from './tool-prompt.ts';
import { declaredTool } from './tool-schema.ts';

/** Returns all texts that are sent with a request, in the order in which the model reads them. Token counts are based on these texts. */
export function textsOf(request: ModelRequest): string[] {
  const { system, messages, tools = [] } = alternateRoles(request);
  const declarations = hasTools(request)
    ? tools.map((tool) => JSON.stringify({ name: tool.name, ...declaredTool(tool) }))
    : [];
  return [system, ...messages.flatMap(textsIn), ...declarations];
}

function textsIn(message: ModelMessage): string[] {
  if (message.role === 'tool') return message.results.map(({ text }) => text);
  const { text, toolCalls = [] } = message;
  return [
    ...(text === '' && toolCalls.length > 0 ? [] : [text]),
    ...toolCalls.map((call) => `${call.name} ${argumentsText(call)}`),
    ...toolCalls.flatMap(({ replay }) =>
      (replay?.before ?? []).filter(({ type }) => type === 'reasoning').map((part) => part.text),
    ),
  ];
}
