import type { GenerateTextResultDto, TextGenerationEventDto } from '../../../services/agent/src/generated/schema.ts';
import type { Answer, Client } from './client.ts';
import type { AsJson } from './messages.ts';
import { Subscription } from './sockets.ts';

type Generated = AsJson<Omit<GenerateTextResultDto, '__typename'>>;
export type GenerationEvent = AsJson<Omit<TextGenerationEventDto, '__typename'>>;

export interface UsageSummary {
  costThisMonthUsd: number;
  monthlySpendCapUsd: number;
  breakdown: { model: string; operation: string; count: number }[];
}

/** A provider in shared meshes. Its model, gpt-4o, has a price. Its requests are forwarded to the test file's own model server. */
export const pricedProvider = 'CLOUD_HOSTED_MODELS';

/** Returns a prompt that contains `text`, and with which a call reaches the test file's own model server. */
export function promptOf(client: Client, text: string): string {
  // `forwarder.ts` reads the port from the prompt to choose the model server.
  return client.modelPort === undefined ? text : `[model 127.0.0.1:${client.modelPort}]\n\n${text}`;
}

/**
 * Returns functions that make direct calls with a new API key. Each call has a different client address, because direct calls are throttled
 * by address.
 */
export async function callerWithKey(owner: Client) {
  const { apiKey = '' } = await owner.withApiKey();
  const caller = () => Object.assign(owner.at(owner.url), { tokens: undefined, apiKey });
  return {
    apiKey,
    caller,
    /** Calls `generateText`. */
    generate(text: string, input: Record<string, unknown> = {}): Promise<Answer<{ generateText: Generated }>> {
      const document = `query ($input: GenerateTextInput!) { generateText(input: $input) { text providerId modelId costUsd } }`;
      return caller().send(document, { input: { prompt: promptOf(owner, text), provider: pricedProvider, ...input } });
    },
    start(text: string, input: Record<string, unknown> = {}): Promise<string> {
      const document =
        'mutation ($input: GenerateTextInput!) { start: startTextGeneration(input: $input) { requestId } }';
      const given = { prompt: promptOf(owner, text), provider: pricedProvider, ...input };
      return caller()
        .query<{ start: { requestId: string } }>(document, { input: given })
        .then(({ start }) => start.requestId);
    },
    /** Subscribes to a generation on a separate socket. */
    listen(requestId: string) {
      const events: GenerationEvent[] = [];
      const subscription = new Subscription<{ events: GenerationEvent }>({
        url: owner.url,
        credentials: { 'x-app-platform': 'customer', 'x-forwarded-for': owner.ip, 'x-api-key': apiKey },
        query: `subscription ($requestId: String!) {
          events: textGenerationEvents(requestId: $requestId) { requestId text done providerId modelId error }
        }`,
        variables: { requestId },
        next: ({ events: event }) => void events.push(event),
      });
      return Object.assign(subscription, { events });
    },
  };
}

export function usageOf(owner: Client): Promise<UsageSummary> {
  return owner.value('{ apiUsageSummary { costThisMonthUsd monthlySpendCapUsd breakdown { model operation count } } }');
}
