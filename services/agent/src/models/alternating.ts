import type { ModelMessage, ModelRequest } from './model.ts';

/**
 * A request that every chat template takes: its messages begin with the person's and alternate from there. Most templates of
 * open models refuse any other order, and an empty message. So replies that were cut before their first word are left out,
 * messages of one side in a row (a turn without a reply lies between them) become one, and what the agent said first, its
 * greeting, goes into the instructions. Applied twice it changes nothing more.
 */
export function alternating(request: ModelRequest): ModelRequest {
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
