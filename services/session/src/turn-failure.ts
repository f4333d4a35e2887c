import { internalMessage } from '@parley/kernel/error-table';
import { isDomainError } from '@parley/kernel/errors';

/** Why a turn ended without a reply: one of the codes that clients get in a failed turn's event. */
export type TurnFailureCode = keyof typeof messages;

export interface TurnFailure {
  code: TurnFailureCode;
  /** Describes the failure; safe to show to clients. */
  message: string;
}

const messages = {
  MODEL_UNAVAILABLE: 'No model could answer; send the message again later',
  MODEL_FAILED: 'The model failed in the middle of its reply',
  MODEL_DECLINED: 'The model declined to answer this message',
  MODEL_LIMIT_REACHED: 'The model reached its limit of tokens before it said anything',
  MODEL_REQUEST_REFUSED: 'The model provider refused the request; the same message would be refused again',
  TURN_TIMEOUT: 'The reply took too long',
  TURN_LOST: 'The reply was lost several times; send the message again',
  SESSION_ENDED: 'The session ended before this message was answered',
  SPEND_CAP_REACHED: 'The monthly LLM spend cap is reached',
  WORKFLOW_NOT_PUBLISHED: "The agent's workflow is not published",
  WORKFLOW_FAILED: "The agent's workflow failed",
  WORKFLOW_LIMIT: "The agent's workflow went beyond its limits",
  INTERNAL: internalMessage,
};

export function turnFailure(code: TurnFailureCode): TurnFailure {
  return { code, message: messages[code] };
}

/** Returns the failure of a turn whose call of the agent failed. @param begun whether a part of the reply was streamed */
export function failureOf(error: unknown, begun: boolean): TurnFailure {
  if (!isDomainError(error)) return turnFailure('INTERNAL');
  const { reason } = error;
  // The session will end soon, together with its tenant.
  if (reason === 'TENANT_DELETED') return turnFailure('SESSION_ENDED');
  // The agent's message names the refusal and is safe to show.
  if (reason === 'MODEL_REQUEST_REFUSED') return { code: reason, message: error.message };
  if (reason !== undefined && reason !== 'MODEL_UNAVAILABLE' && isFailureCode(reason)) return turnFailure(reason);
  if (error.kind === 'unavailable') return turnFailure(begun ? 'MODEL_FAILED' : 'MODEL_UNAVAILABLE');
  return turnFailure('INTERNAL');
}

function isFailureCode(reason: string): reason is TurnFailureCode {
  return Object.hasOwn(messages, reason);
}
