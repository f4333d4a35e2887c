import type { Agent } from './agent.ts';

/** What the model is told about itself before the conversation. */
export function systemPrompt({ personaPrompt, position, subject }: Agent): string {
  const role = [`Your role is ${position}.`, subject === null ? '' : `The subject of the conversation is ${subject}.`];
  return `${personaPrompt}\n\n${role.filter(Boolean).join(' ')}`;
}
