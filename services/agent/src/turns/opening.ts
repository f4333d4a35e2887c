import type { Agent } from '../agents/agent.ts';
import type { Opening } from '../models/model.ts';

/** The request to a model for the first message of a session, where the agent speaks first. */
export interface OpeningRequest {
  opening: Opening;
  /** Replaces the user message with which a conversation has to begin. */
  instruction: string;
}

/**
 * Returns a request for the agent's opening greeting, which the model writes as the persona. Workflows reply only to messages, so the
 * greeting of an agent with a workflow comes from the persona alone.
 */
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
