import type { Caller } from '@parley/chassis/caller';
import { type InputChecks, inputChecks } from '@parley/chassis/input-checks';
import type { AvatarConfig, AvatarGender, AvatarSettings, VoiceTier } from './avatar-config.ts';
import { avatarConfigStore } from './avatar-config-store.ts';
import { withHeldTenantInUse } from './owned-tenant.ts';
import type { Ports } from './ports.ts';
import { signedInToTenant } from './signed-in.ts';

/** Left out stays; null clears liveTalkingUrl, and is refused elsewhere. */
export interface UpsertAvatarConfigInput {
  gender?: AvatarGender | null;
  glbModel?: string | null;
  voiceTier?: VoiceTier | null;
  languageCode?: string | null;
  speakingRate?: number | null;
  liveTalkingUrl?: string | null;
}

const slowest = 0.25;
const fastest = 4;

/** Changes the tenant's avatar and voice defaults in place. */
export async function upsertAvatarConfig(
  ports: Ports,
  caller: Caller,
  input: UpsertAvatarConfigInput,
  gone?: AbortSignal,
): Promise<AvatarConfig> {
  const person = signedInToTenant(caller);
  const check = inputChecks();
  checkAvatar(check, input);
  check.finish();
  // What is null or left out has been refused or stays, but for the one that null clears.
  const { liveTalkingUrl, ...rest } = input;
  const given = Object.fromEntries(
    Object.entries(rest).filter(([, value]) => value != null),
  ) as Partial<AvatarSettings>;
  const changes = { ...given, ...(liveTalkingUrl !== undefined && { liveTalkingUrl }) };
  return withHeldTenantInUse(ports, person, gone, (db) =>
    db.asTenant(person.tenantId, (own) => avatarConfigStore(own).update(changes)),
  );
}

function checkAvatar(check: InputChecks, input: UpsertAvatarConfigInput): void {
  for (const name of ['gender', 'glbModel', 'voiceTier', 'languageCode', 'speakingRate'] as const) {
    if (input[name] === null) check.refuse(`input.${name}`, 'must not be null');
  }
  const { glbModel, languageCode, speakingRate, liveTalkingUrl } = input;
  if (glbModel != null && check.text('input.glbModel', glbModel, { max: 255 }) && /[/\\]/.test(glbModel)) {
    check.refuse('input.glbModel', 'must be a file name, without a folder');
  }
  if (
    languageCode != null &&
    check.text('input.languageCode', languageCode, { max: 35 }) &&
    !isLanguage(languageCode)
  ) {
    check.refuse('input.languageCode', 'is not a language code such as en-US');
  }
  if (speakingRate != null && !(speakingRate >= slowest && speakingRate <= fastest)) {
    check.refuse('input.speakingRate', `must be between ${slowest} and ${fastest}`);
  }
  if (liveTalkingUrl != null && check.text('input.liveTalkingUrl', liveTalkingUrl, { max: 2_048 })) {
    if (!isUrl(liveTalkingUrl)) check.refuse('input.liveTalkingUrl', 'is not an http, https, ws or wss URL');
  }
}

function isLanguage(code: string): boolean {
  try {
    return Intl.getCanonicalLocales(code).length === 1;
  } catch {
    return false;
  }
}

function isUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && ['http:', 'https:', 'ws:', 'wss:'].includes(url.protocol) && !url.username && !url.password;
}
