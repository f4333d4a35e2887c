import type { TenantCaller } from '@parley/kernel/caller';
import { type ConversationStats, statsCounter } from './conversation-stats.ts';
import type { Ports } from './ports.ts';
import { sampler } from './sample.ts';
import { type TranscriptLine, transcriptOf } from './transcript.ts';
import { transcriptWriter } from './transcript-writer.ts';

export interface ConversationSource {
  sessionId: number;
  caller: TenantCaller;
  signal: AbortSignal;
}

/**
 * Stores the transcript while it streams. The sample is the whole conversation, or exchanges spread over it, of about
 * `sampleCharacters`.
 */
export async function readConversation(ports: Ports, source: ConversationSource, sampleCharacters: number) {
  const { sessionId, caller } = source;
  const writer = transcriptWriter(ports.database, { tenantId: caller.tenantId, sessionId });
  const sampling = sampler(sampleCharacters);
  let hasUserMessage = false;
  for await (const lines of partsOf(ports, source)) {
    await writer.write(lines);
    sampling.add(lines);
    hasUserMessage ||= lines.some(({ role }) => role === 'USER');
  }
  return { transcript: await writer.end(), sample: sampling.sample(), hasUserMessage };
}

/** Streams the transcript again. Counting takes far longer than reading, so only if no model judges. */
export async function countStats(
  ports: Ports,
  source: ConversationSource,
  subject: string,
): Promise<ConversationStats> {
  const counter = statsCounter(subject);
  for await (const lines of partsOf(ports, source)) await counter.count(lines);
  return counter.stats();
}

async function* partsOf(
  ports: Ports,
  { sessionId, caller, signal }: ConversationSource,
): AsyncGenerator<TranscriptLine[]> {
  for await (const { lines } of ports.session.streamTranscript({ sessionId }, { caller, signal })) {
    yield transcriptOf(lines);
  }
}
