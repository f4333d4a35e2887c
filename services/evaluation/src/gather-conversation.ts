import type { TenantCaller } from '@parley/kernel/caller';
import { type Figures, figureCounter } from './conversation-figures.ts';
import type { Ports } from './ports.ts';
import { type Sample, sampler } from './sample.ts';
import { type TranscriptLine, transcriptOf } from './transcript.ts';
import { transcriptWriter, type WrittenTranscript } from './transcript-writer.ts';

/** Which session, and on whose behalf. */
export interface Gathering {
  sessionId: number;
  caller: TenantCaller;
  signal: AbortSignal;
}

/** A session as its judges need it: of one of any length only so much is in memory. */
export interface Conversation {
  /** All of it. */
  transcript: WrittenTranscript;
  /** All of it, or what stands for it in about as many characters as asked for. */
  sample: Sample;
  /** Whether there is anything to judge. */
  personSpoke: boolean;
}

/** Reads what was said in a session part by part, and stores it on the way. */
export async function gatherConversation(
  ports: Ports,
  gathering: Gathering,
  sampleCharacters: number,
): Promise<Conversation> {
  const { sessionId, caller } = gathering;
  const writer = transcriptWriter(ports.database, { tenantId: caller.tenantId, sessionId });
  const sampling = sampler(sampleCharacters);
  let personSpoke = false;
  for await (const lines of partsOf(ports, gathering)) {
    await writer.write(lines);
    sampling.add(lines);
    personSpoke ||= lines.some(({ role }) => role === 'USER');
  }
  return { transcript: await writer.end(), sample: sampling.sample(), personSpoke };
}

/** Reads it once more to count it, which takes far more time than reading: only where no model judges. */
export async function countConversation(ports: Ports, gathering: Gathering, subject: string): Promise<Figures> {
  const counter = figureCounter(subject);
  for await (const lines of partsOf(ports, gathering)) await counter.count(lines);
  return counter.figures();
}

async function* partsOf(ports: Ports, { sessionId, caller, signal }: Gathering): AsyncGenerator<TranscriptLine[]> {
  for await (const { lines } of ports.session.streamTranscript({ sessionId }, { caller, signal })) {
    yield transcriptOf(lines);
  }
}
