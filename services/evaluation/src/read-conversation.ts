import type { TenantRequest } from '@parley/kernel/caller-request';
import { type ConversationStats, statsCounter } from './conversation-stats.ts';
import type { Ports } from './ports.ts';
import { sampler } from './sample.ts';
import { type TranscriptLine, transcriptOf } from './transcript.ts';
import { transcriptWriter } from './transcript-writer.ts';

/**
 * Stores the transcript while it streams, and returns a sample of about `sampleCharacters`: the whole conversation if it fits, otherwise
 * exchanges spread over it.
 */
export async function readConversation(
  ports: Ports,
  request: TenantRequest,
  { sessionId, sampleCharacters }: { sessionId: number; sampleCharacters: number },
) {
  const writer = transcriptWriter(ports.database, { tenantId: request.caller.tenantId, sessionId });
  const sampling = sampler(sampleCharacters);
  let hasUserMessage = false;
  for await (const lines of partsOf(ports, request, sessionId)) {
    await writer.write(lines);
    sampling.add(lines);
    hasUserMessage ||= lines.some(({ role }) => role === 'USER');
  }
  return { transcript: await writer.end(), sample: sampling.sample(), hasUserMessage };
}

/** Streams the transcript again to count words. Counting takes far longer than reading, so it is only done if no model judges. */
export async function countStats(
  ports: Ports,
  request: TenantRequest,
  { sessionId, subject }: { sessionId: number; subject: string },
): Promise<ConversationStats> {
  const counter = statsCounter(subject);
  for await (const lines of partsOf(ports, request, sessionId)) await counter.count(lines);
  return counter.stats();
}

async function* partsOf(ports: Ports, request: TenantRequest, sessionId: number): AsyncGenerator<TranscriptLine[]> {
  for await (const { lines } of ports.session.streamTranscript({ sessionId }, request)) {
    yield transcriptOf(lines);
  }
}
