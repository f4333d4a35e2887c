import type { TenantRequest } from '@parley/kernel/caller-request';
import type { SdkSendMessageInput } from '../generated/schema.ts';
import type { Ports } from '../ports.ts';
import { requireOwnSession } from '../require-own-session.ts';
import { sendMessage } from '../send-message.ts';

/**
 * Sends a message in the session of the caller's token.
 * @throws DomainError `forbidden` if the token belongs to another session
 * @throws the errors of `sendMessage`
 */
export async function sdkSendMessage(
  ports: Ports,
  request: TenantRequest,
  { sessionId, text, clientTurnId }: SdkSendMessageInput,
): Promise<boolean> {
  requireOwnSession(request.caller, sessionId);
  await sendMessage(ports, request, { sessionId, text, clientTurnId: clientTurnId ?? null });
  return true;
}
