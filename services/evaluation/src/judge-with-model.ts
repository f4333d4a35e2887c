import { randomUUID } from 'node:crypto';
import type { TenantRequest } from '@parley/kernel/caller-request';
import { type DomainError, isDomainError } from '@parley/kernel/errors';
import type { Agent, DescribeModelResponse, GenerateResponse } from '@parley/protos/parley/agent/v1/agent';
import { strictTokenBound, usualTokenBound } from '@parley/text/token-bound';
import { type Excerpt, isWhole } from './excerpt.ts';
import type { OfflineReason } from './judge-offline.ts';
import { type FittedPrompt, promptFitter, type TokenBudget } from './judge-prompt.ts';
import { type Judgement, judgementSchema, readJudgement } from './judgement.ts';
import type { Ports } from './ports.ts';
import type { Rendering } from './renderer-process.ts';
import type { Sample } from './sample.ts';

/** Number of answers per prompt that may fail the schema before the offline judge takes over. */
const maxAnswers = 3;

/** Number of attempts of the job while the agent service is unavailable. After that, no model judges. */
const maxUnavailableAttempts = 3;

export interface JudgementInput {
  agent: Agent;
  model: DescribeModelResponse;
  labels: string[];
  sample: Sample;
  sessionId: number;
  attempt: number;
}

export type ModelOutcome = { judgement: Judgement; modelId: string } | { reason: OfflineReason };

/**
 * @throws DomainError `unavailable` if models are busy, or if the agent service is unavailable at one of the first attempts. The job must
 * then be retried later.
 */
export async function judgeWithModel(
  ports: Ports,
  request: TenantRequest,
  input: JudgementInput,
): Promise<ModelOutcome> {
  const { labels, sessionId, attempt, agent, model } = input;
  if (model.offline) return { reason: 'noModel' };
  const jsonSchemaJson = JSON.stringify(judgementSchema(labels));
  const maxOutputTokens = outputTokens(model);
  // Half of the judgement's time is reserved for the model, so that a timeout means that the model did receive the request.
  const maxWaitMs = Math.ceil(ports.judgeTimeoutMs / 2);
  let calls = 0;
  const generate = ({ system, prompt }: FittedPrompt): Promise<GenerateResponse> => {
    calls += 1;
    const callId = `evaluation-${sessionId}-${attempt}-${calls}-${randomUUID()}`;
    const about = { agentId: agent.id, sessionId, operation: 'evaluation', callId };
    return ports.agent.generate(
      { ...about, system, prompt, jsonSchemaJson, maxOutputTokens, maxWaitMs },
      { ...request, timeoutMs: ports.judgeTimeoutMs, expectedErrors: ['invalid'] },
    );
  };

  try {
    for await (const prompt of promptsFor(ports, request, input, jsonSchemaJson)) {
      try {
        return await judgePrompt(prompt);
      } catch (error) {
        if (!isTooLong(error)) throw error;
        ports.log.warn({ sessionId, modelId: model.modelId }, 'model refused a prompt as too long');
      }
    }
    return { reason: 'tooLong' };
  } catch (error) {
    if (!isDomainError(error) || isTransient(error, attempt)) throw error;
    ports.log.warn({ err: error, sessionId }, 'no model judgement; judging offline');
    return { reason: error.reason === 'SPEND_CAP_REACHED' ? 'spendCap' : 'noAnswer' };
  }

  async function judgePrompt(prompt: FittedPrompt): Promise<ModelOutcome> {
    for (let answerNumber = 1; answerNumber <= maxAnswers; answerNumber += 1) {
      const answer = await generate(prompt);
      if (answer.offline) return { reason: 'noModel' };
      const judgement = readJudgement(answer.text, labels);
      if (judgement) {
        const summary = `${excerptNote(prompt.excerpt)}${judgement.summary}`;
        return { judgement: { ...judgement, summary }, modelId: answer.modelId };
      }
      const { finishReason } = answer;
      ports.log.info({ sessionId, answerNumber, finishReason }, 'judgement does not match its schema');
    }
    return { reason: 'invalidAnswer' };
  }
}

/**
 * Yields prompts until one is not too long: fitted by the usual token bound, then by the strict bound, then by fractions of the strict
 * bound.
 */
async function* promptsFor(
  ports: Ports,
  { caller, signal }: TenantRequest,
  { agent, model, labels, sample, sessionId }: JudgementInput,
  otherText: string,
): AsyncGenerator<FittedPrompt> {
  const maxTokens = model.contextTokens - outputTokens(model);
  const onTemplateFailed = (problem: string) =>
    ports.log.warn({ problem, agentId: agent.id, sessionId }, 'evaluation template failed; using default instructions');
  const render = (rendering: Rendering) => ports.templates.render(rendering, { tenantId: caller.tenantId, signal });
  const fittedPrompt = promptFitter({ agent, labels, sample, otherText, render, onTemplateFailed });
  const attempts: TokenBudget[] = [
    { maxTokens, countTokens: usualTokenBound },
    ...[1, 2, 4, 8].map((part) => ({ maxTokens: Math.floor(maxTokens / part), countTokens: strictTokenBound })),
  ];
  let before: FittedPrompt | undefined;
  for (const attempt of attempts) {
    const prompt = await fittedPrompt(attempt);
    // The model would refuse an identical prompt again.
    if (prompt.prompt !== before?.prompt || prompt.system !== before.system) yield prompt;
    before = prompt;
  }
}

/** Returns the token limit of the answer. A judgement is short, so it gets at most a quarter of a small model's context. */
function outputTokens({ contextTokens, maxOutputTokens }: DescribeModelResponse): number {
  return Math.max(1, Math.min(maxOutputTokens, Math.floor(contextTokens / 4)));
}

function excerptNote(excerpt: Excerpt): string {
  if (isWhole(excerpt)) return '';
  const { messages, lines, truncated } = excerpt;
  const inPart = truncated > 0 ? `, ${truncated} of them in part` : '';
  return `Judged from a shortened conversation, since the whole is longer than the model takes: ${lines.length} of ${messages} messages were shown to it${inPart}. `;
}

function isTooLong(error: unknown): boolean {
  return isDomainError(error, 'invalid') && error.reason === 'CONTEXT_TOO_LONG';
}

/** Reports whether to retry the job: always if models are busy, and a few times while the agent service is unavailable. */
function isTransient(error: DomainError, attempt: number): boolean {
  if (error.kind === 'unavailable' && error.reason === 'MODEL_BUSY') return true;
  return error.kind === 'unavailable' && error.reason !== 'MODEL_UNAVAILABLE' && attempt < maxUnavailableAttempts;
}
