import type { Logger } from '@parley/kernel/telemetry/log';
import type { AvatarModels } from './avatar-models.ts';
import type { TryPage } from './http/try-page.ts';
import type { ProviderWork } from './provider-work.ts';
import type { AvatarVendor } from './providers/avatar-vendor.ts';
import type { Listener, Speaker } from './speech.ts';

/** The dependencies of voice's use cases. */
export interface Ports {
  speak: Speaker;
  /** Undefined if no provider for transcripts is configured. */
  listen: Listener | undefined;
  /** Undefined if no vendor of hosted avatars is configured. */
  openVendorSession: AvatarVendor | undefined;
  models: AvatarModels;
  page: TryPage;
  /** Runs and measures a provider call within the limits of its tenant. */
  provide: ProviderWork;
  log: Logger;
}
