import type { Caller } from '@parley/kernel/caller';
import type { ErrorKind } from '@parley/kernel/errors';
import type { BilledTokens } from './model-price.ts';

/** The usage of a call and the model that served it. */
export interface Spent extends BilledTokens {
  providerId: string;
  modelId: string;
  costUsdE8: bigint;
}

export interface SpendCall extends Spent {
  callId: string;
  operation: string;
  apiKeyId?: number | undefined;
  agentId?: number | undefined;
  sessionId?: number | undefined;
}

export interface SpendSettlement {
  call: SpendCall;
  /** Whether the tokens are an estimate. */
  estimated: boolean;
  /** Whether the model served the call; a call that was not served is not counted. */
  served: boolean;
}

interface LedgerCall {
  caller: Caller;
  expectedErrors?: ErrorKind[];
}

/** A change of one tenant's ledger. */
export interface SpendChange {
  tenantId: number;
  change:
    | { $case: 'reserve'; value: { call: SpendCall; begins: boolean } }
    | { $case: 'settle'; value: SpendSettlement };
}

/** The ledger of tenants' spend, as a gRPC client sees it; the proto of the service that implements it documents each call. */
export interface Ledger {
  reserveSpend(request: { call: SpendCall; begins: boolean }, call: LedgerCall): Promise<{ leaseMs: number }>;
  beginSpend(request: { callId: string }, call: LedgerCall): Promise<unknown>;
  renewSpend(request: { callIds: string[] }, call: LedgerCall): Promise<unknown>;
  meterSpend(
    request: { changes: SpendChange[] },
    call: LedgerCall & { timeoutMs: number },
  ): Promise<{ left: number[]; leaseMs: number }>;
  settleSpend(request: { settlements: SpendSettlement[] }, call: LedgerCall): Promise<unknown>;
}
