import type { CallAccount } from '@parley/metering/spend-meter';
import type { LinkedIdentity } from '@parley/protos/parley/action/v1/action';
import type { TurnUsage } from '@parley/protos/parley/agent/v1/agent';
import type { ToolCall } from '@parley/protos/parley/agent/v1/tool_calls';
import type { Passage } from '@parley/protos/parley/knowledge/v1/knowledge';
import type { ConversationMessage, FinishReason } from '../models/model.ts';
import type { StructuredContent } from '../workflow/structured-content.ts';

export interface Turn {
  agentId: number;
  sessionId: number;
  /** Unique to this attempt at the turn. */
  callId: string;
  /** The conversation, oldest first; ends with the user's message to answer. Empty where the agent opens. */
  history: ConversationMessage[];
  /** Names the turn, the same in every attempt at it. */
  turnKey: string;
  /** Whether an earlier attempt may have begun it. */
  resumes: boolean;
  /** For workflows, as `RunTurnRequest` has it. */
  clientExternalId: string;
  metadataJson: string;
  sessionStartedAt?: Date | undefined;
  testDraft: boolean;
  identityJson: string;
  includesEarlierUsage: boolean;
  /** Of the person, for actions that are called with their identity. */
  linkedIdentities: LinkedIdentity[];
  /** Whether the agent speaks first. */
  opens: boolean;
}

/** Waits without that being counted. */
export type Untimed = <Result>(wait: () => Promise<Result>) => Promise<Result>;

/** What calls of models, tools and searches are for. */
export interface TurnScope
  extends Pick<Turn, 'callId' | 'history' | 'turnKey' | 'resumes'>,
    Partial<Pick<Turn, 'linkedIdentities'>> {
  account: Omit<CallAccount, 'callId'>;
  /** What keys of tool calls begin with, where a turn has several loops of them. Default: nothing. */
  toolKeyPrefix?: string;
  /** Waits for a slot of a model outside of the time limits of whoever asks. Default: there are none. */
  untimed?: Untimed;
  /** Called with what the turn goes on without: tools that are not there, or all, where they cannot be described. */
  onToolsLeftOut?: (tools: readonly string[]) => void;
}

/** What changed in a turn; each field as `RunTurnResponse` has it. */
export interface TurnEvent {
  text: string;
  usage?: TurnUsage;
  passages?: Passage[];
  toolCall?: ToolCall;
  structuredContent?: StructuredContent;
  /** With the last text. */
  finishReason?: FinishReason;
}
