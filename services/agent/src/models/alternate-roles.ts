import type { ModelMessage, ModelRequest } from './model.ts';

/**
 * Makes a request acceptable to every chat template: user and assistant alternate, the user first. Most templates of open models
 * refuse any other order, and empty messages. So empty replies are dropped, consecutive messages of one role are joined, and a
 * greeting by the agent moves into the system prompt. Idempotent.
 */
export function alternateRoles(request: ModelRequest): ModelRequest {
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
