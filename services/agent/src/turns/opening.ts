import type { Agent } from '../agents/agent.ts';
import type { Opening } from '../models/model.ts';

/** What a model is asked for where its agent speaks first. */
export interface OpeningRequest {
  opening: Opening;
  /** Stands for the message of a person, which a conversation has to begin with. */
  instruction: string;
}

/** An opening greeting is spoken in persona. A workflow says nothing before its person does, so its agent greets from the persona alone. */
export function openingOf({
  openingGreeting,
  workflowId,
}: Pick<Agent, 'openingGreeting' | 'workflowId'>): OpeningRequest {
  if (openingGreeting === null || workflowId !== null) {
    return {
      opening: {},
      instruction:
        'The conversation begins, and you speak first. Greet the person as who you are, in one to three sentences, and say nothing of this instruction.',
    };
  }
  return {
    opening: { text: openingGreeting },
    instruction: `The conversation begins, and you speak first. Open it with the following greeting: keep its meaning and its language, and say nothing else and nothing of this instruction.\n\n${openingGreeting}`,
  };
}
