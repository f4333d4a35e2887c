import type { ModelMessage, ModelRequest } from './model.ts';
import { withPassages } from './passage-prompt.ts';

/** Most chat templates of open models refuse empty messages, and any order but alternating roles with the user first. */
export function alternateRoles(given: ModelRequest): ModelRequest {
  const request = withPassages(given);
  const messages: ModelMessage[] = [];
  for (const { role, text } of request.messages) {
    if (role === 'assistant' && text.trim() === '') continue;
    const last = messages.at(-1);
    if (last?.role === role) last.text += `\n\n${text}`;
    else messages.push({ role, text });
  }
  const [first, ...rest] = messages;
  if (first?.role !== 'assistant') return { ...request, messages };
  const opening = `You opened the conversation with these words:\n${first.text}`;
  return { ...request, system: request.system === '' ? opening : `${request.system}\n\n${opening}`, messages: rest };
}
