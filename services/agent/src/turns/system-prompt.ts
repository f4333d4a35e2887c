import type { Agent } from '../agents/agent.ts';

export function systemPrompt({ name, personaPrompt, position, subject, ttsLang }: Agent): string {
  const facts = [
    `Your name is ${name}.`,
    `Your role is ${position}.`,
    subject === null ? '' : `The subject of the conversation is ${subject}.`,
    ttsLang === null ? '' : `Speak the language ${ttsLang}.`,
  ];
  return `${personaPrompt}\n\n${facts.filter(Boolean).join(' ')}`;
}
