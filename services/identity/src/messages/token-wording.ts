import type { TokenPurpose } from '../generated/schema.ts';
import { validForS } from '../secured-tokens/secured-token.ts';
import { composeMessage } from './compose-message.ts';
import type { Wording } from './message.ts';

const uses: Record<TokenPurpose, string> = {
  SIGN_IN: 'sign in',
  SIGN_UP: 'create your account',
  RESET_PASSWORD: 'set a new password',
  INVITATION: 'create your account',
  UPDATE_PROFILE: 'change your profile',
};

const unasked = 'If you did not ask for it, ignore this message.';

export function codeWording(purpose: TokenPurpose, code: string, expiresAt: Date): Wording {
  return composeMessage({
    subject: `your code to ${uses[purpose]}`,
    code,
    paragraphs: [
      `Use this code to ${uses[purpose]}:`,
      expiry(validForS.TIMED_OTP, expiresAt),
      `Do not pass it on. ${unasked}`,
    ],
  });
}

export function resetLinkWording(url: string, expiresAt: Date): Wording {
  return composeMessage({
    subject: `your link to ${uses.RESET_PASSWORD}`,
    link: { label: 'Set a new password', url },
    paragraphs: [
      `Open this link to ${uses.RESET_PASSWORD}:`,
      expiry(validForS.SECURED_TOKEN, expiresAt),
      `Do not pass it on. ${unasked} Your password stays as it is.`,
    ],
  });
}

export function invitationWording(token: string, expiresAt: Date): Wording {
  return composeMessage({
    subject: 'your invitation',
    code: token,
    paragraphs: [
      `You are invited to ${uses.INVITATION}. Give this invitation code when you register:`,
      expiry(validForS.SECURED_TOKEN, expiresAt),
      'Register with the email address or phone number that this message came to. If you do not want an account, ignore it.',
    ],
  });
}

function expiry(seconds: number, expiresAt: Date): string {
  return `It works once and expires in ${seconds / 60} minutes, at ${expiresAt.toISOString().slice(11, 16)} UTC.`;
}
