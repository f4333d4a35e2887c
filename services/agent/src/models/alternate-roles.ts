import type { ModelMessage, ModelRequest } from './model.ts';
import { withPassages } from './passage-prompt.ts';
import { withToolExchange } from './tool-prompt.ts';

/**
 * Makes the roles of the messages alternate, starting with the user, and drops empty messages: most chat templates of open models accept
 * nothing else. Tool results stay between the assistant's calls and its next message.
 */
export function alternateRoles(given: ModelRequest): ModelRequest {
  const request = withToolExchange(withPassages(given));
  const messages: ModelMessage[] = [];
  for (const message of request.messages) {
    if (message.role === 'tool') {
      messages.push(message);
      continue;
    }
    const { role, text, toolCalls = [] } = message;
    if (role === 'assistant' && text.trim() === '' && toolCalls.length === 0) continue;
    const last = messages.at(-1);
    if (last?.role !== role) messages.push({ ...message });
    else messages[messages.length - 1] = { ...message, text: joined(last.text, text) };
  }
  return withUserFirst({ ...request, messages });
}

function joined(...texts: string[]): string {
  return texts.filter((text, at) => at === 0 || text !== '').join('\n\n');
}

function withUserFirst(request: ModelRequest): ModelRequest {
  const [first, ...rest] = request.messages;
  if (first?.role !== 'assistant') return request;
  const isCall = (first.toolCalls ?? []).length > 0;
  const messages = isCall ? rest.slice(1) : rest;
  if (first.text.trim() === '') return withUserFirst({ ...request, messages });
  const opening = `You opened the conversation with these words:\n${first.text}`;
  const system = request.system === '' ? opening : `${request.system}\n\n${opening}`;
  return isCall ? withUserFirst({ ...request, system, messages }) : { ...request, system, messages };
}
