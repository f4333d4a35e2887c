import type { TenantCaller } from '@parley/kernel/caller';
import { type DomainError, isDomainError } from '@parley/kernel/errors';
import type { Agent, DescribeModelResponse, GenerateResponse } from '@parley/protos/parley/agent/v1/agent';
import { strictTokenBound, usualTokenBound } from '@parley/text/token-bound';
import { type Excerpt, isWhole } from './excerpt.ts';
import { type FittedPrompt, promptFitter, type Room } from './judge-prompt.ts';
import { type Judgement, judgementSchema, readJudgement } from './judgement.ts';
import type { WhyOffline } from './offline-judge.ts';
import type { Ports } from './ports.ts';
import type { Rendering } from './renderer-process.ts';
import type { Sample } from './sample.ts';

/** A judgement that does not fit the schema is asked for twice more before the offline judge takes over. */
const maxAsks = 3;

/** How many attempts at the job an agent service has that answers for its agents and not for its models. */
const maxAttemptsAtModels = 3;

export interface Question {
  agent: Agent;
  model: DescribeModelResponse;
  labels: string[];
  sample: Sample;
  sessionId: number;
  caller: TenantCaller;
  signal: AbortSignal;
  /** Which attempt at the job this is. */
  attempt: number;
}

export type Asked = { judgement: Judgement; modelId: string } | { why: WhyOffline };

/**
 * A model's judgement, or why there is none. One that was shown a part of the conversation says so at the beginning of its summary.
 * @throws DomainError `unavailable` while the agent service is away, rather than its models, or while these are busy with other calls.
 */
export async function askModel(ports: Ports, question: Question): Promise<Asked> {
  const { labels, caller, signal, sessionId, attempt, agent, model } = question;
  if (model.offline) return { why: 'noModel' };
  const jsonSchemaJson = JSON.stringify(judgementSchema(labels));
  const maxOutputTokens = outputTokens(model);
  // The other half is the model's: one that is asked has time to answer, and a time that ran out tells that it was asked.
  const maxWaitMs = Math.ceil(ports.judgeTimeoutMs / 2);
  let calls = 0;
  const generate = ({ system, prompt }: FittedPrompt): Promise<GenerateResponse> => {
    calls += 1;
    const callId = `evaluation-${sessionId}-${attempt}-${calls}`;
    const about = { agentId: agent.id, sessionId, operation: 'evaluation', callId };
    return ports.agent.generate(
      { ...about, system, prompt, jsonSchemaJson, maxOutputTokens, maxWaitMs },
      { caller, signal, timeoutMs: ports.judgeTimeoutMs, passOn: ['invalid'] },
    );
  };

  try {
    for await (const prompt of promptsFor(ports, question, jsonSchemaJson)) {
      try {
        return await askAbout(prompt);
      } catch (error) {
        if (!isTooLong(error)) throw error;
        ports.log.warn(
          { sessionId, modelId: model.modelId },
          'the model takes less than its settings say; will ask for less',
        );
      }
    }
    return { why: 'tooLong' };
  } catch (error) {
    if (!isDomainError(error) || mayComeBack(error, attempt)) throw error;
    // No model answers: better a judgement by counting now than none. The agent service has tried its fallbacks.
    ports.log.warn({ err: error, sessionId }, 'no model judged the session');
    return { why: 'noAnswer' };
  }

  async function askAbout(prompt: FittedPrompt): Promise<Asked> {
    for (let ask = 1; ask <= maxAsks; ask += 1) {
      const answer = await generate(prompt);
      if (answer.offline) return { why: 'noModel' };
      const judgement = readJudgement(answer.text, labels);
      if (judgement) {
        const summary = `${noteOn(prompt.excerpt)}${judgement.summary}`;
        return { judgement: { ...judgement, summary }, modelId: answer.modelId };
      }
      ports.log.info({ sessionId, ask }, 'a judgement did not fit its schema');
    }
    return { why: 'noFit' };
  }
}

/**
 * What the model is asked in turn for as long as it takes less: first as much as its settings allow by the usual count, then by the
 * strict one, then halves of that.
 */
async function* promptsFor(ports: Ports, question: Question, besides: string): AsyncGenerator<FittedPrompt> {
  const { agent, model, labels, sample, sessionId, caller, signal } = question;
  const room = model.contextTokens - outputTokens(model);
  const onTemplateFailed = (problem: string) =>
    ports.log.warn({ problem, agentId: agent.id, sessionId }, "the agent's evaluation template failed");
  const render = (rendering: Rendering) => ports.templates.render(rendering, { tenantId: caller.tenantId, signal });
  const fittedPrompt = promptFitter({ agent, labels, sample, besides, render, onTemplateFailed });
  const attempts: Room[] = [
    { room, tokens: usualTokenBound },
    ...[1, 2, 4, 8].map((part) => ({ room: Math.floor(room / part), tokens: strictTokenBound })),
  ];
  let before: FittedPrompt | undefined;
  for (const attempt of attempts) {
    const prompt = await fittedPrompt(attempt);
    // A conversation that fits by either count was refused already.
    if (prompt.prompt !== before?.prompt || prompt.system !== before.system) yield prompt;
    before = prompt;
  }
}

/** A judgement is short: it takes no more than a quarter of what a small model takes in all. */
function outputTokens({ contextTokens, maxOutputTokens }: DescribeModelResponse): number {
  return Math.max(1, Math.min(maxOutputTokens, Math.floor(contextTokens / 4)));
}

function noteOn(excerpt: Excerpt): string {
  if (isWhole(excerpt)) return '';
  const { messages, lines, cut } = excerpt;
  const inPart = cut > 0 ? `, ${cut} of them in part` : '';
  return `Judged from a shortened conversation, since the whole is longer than the model takes: ${lines.length} of ${messages} messages were shown to it${inPart}. `;
}

function isTooLong(error: unknown): boolean {
  return isDomainError(error, 'invalid') && error.reason === 'CONTEXT_TOO_LONG';
}

/**
 * Whether it is the agent service that is away, rather than its models: then the job waits for it, within reason. For a model that
 * was not asked, since others were before, it waits however often that is.
 */
function mayComeBack(error: DomainError, attempt: number): boolean {
  if (error.kind === 'unavailable' && error.reason === 'MODEL_BUSY') return true;
  return error.kind === 'unavailable' && error.reason !== 'MODEL_UNAVAILABLE' && attempt < maxAttemptsAtModels;
}
