import { codePoints, type InputChecks, inputChecks } from '@parley/chassis/input-checks';
import { templateEngine, whyNoTemplate } from '@parley/chassis/template-engine';
import type { AgentFields, AgentInput } from './agent.ts';

/** The most characters (Unicode code points) of each text. */
export const textLimits = {
  name: 200,
  personaPrompt: 20_000,
  position: 200,
  subject: 200,
  openingGreeting: 4_000,
  ttsVoice: 200,
  ttsLang: 100,
  avatarGlb: 200,
  lipsyncLang: 100,
  evaluationPromptTemplate: 20_000,
  externalSyncUrl: 2_048,
  llmModelOverride: 200,
} as const satisfies { [Field in keyof AgentFields]?: number };

/** What an agent is never without. */
const neverNull = [
  'name',
  'personaPrompt',
  'position',
  'useCase',
  'voiceTier',
  'status',
  'vadThreshold',
  'avatarBackend',
] as const satisfies (keyof AgentFields)[];

const templates = templateEngine();

const maxLabels = 50;
const maxLabelLength = 100;
const maxMappedFields = 100;
const maxMappingLength = 500;

/** What an agent is made with where the input says nothing. */
export const agentDefaults = {
  subject: null,
  openingGreeting: null,
  useCase: 'INTERVIEW',
  status: 'ACTIVE',
  workflowId: null,
  voiceTier: 'STANDARD',
  ttsVoice: null,
  ttsLang: null,
  speakingRate: null,
  vadThreshold: 0.5,
  avatarGlb: null,
  avatarGender: null,
  lipsyncLang: null,
  evaluationPromptTemplate: null,
  evaluationRecommendationLabels: null,
  externalSyncUrl: null,
  externalSyncSecretRef: null,
  externalSyncOwnerId: null,
  externalSyncSchemaConfig: null,
  llmProviderOverride: null,
  llmModelOverride: null,
  avatarBackend: 'CLIENT_3D',
  avatarBackendConfig: null,
} as const satisfies Omit<AgentFields, 'name' | 'personaPrompt' | 'position'>;

/**
 * The fields that an input gives, checked each by itself; `checkTogether` looks at what they make together.
 * @throws DomainError `invalid` naming every field that is wrong.
 */
export function checkedAgentInput(input: AgentInput): Partial<AgentFields> {
  const checks = inputChecks();
  for (const field of neverNull) if (input[field] === null) checks.refuse(`input.${field}`, 'must not be null');
  for (const [field, max] of Object.entries(textLimits) as [keyof typeof textLimits, number][]) {
    checks.optionalText(`input.${field}`, input[field], { max });
  }
  checkNumber(checks, 'input.speakingRate', input.speakingRate, 0.25, 4);
  checkNumber(checks, 'input.vadThreshold', input.vadThreshold, 0, 1);
  checkTemplate(checks, input.evaluationPromptTemplate);
  checkLabels(checks, input.evaluationRecommendationLabels);
  checkUrl(checks, input.externalSyncUrl);
  checkMapping(checks, input.externalSyncSchemaConfig);
  checkAvatarBackendConfig(checks, input.avatarBackendConfig);
  if (input.externalSyncSecretRef != null) {
    checks.refuse('input.externalSyncSecretRef', 'names no secret that was provisioned for this tenant');
  }
  if (input.externalSyncOwnerId != null && input.externalSyncOwnerId <= 0) {
    checks.refuse('input.externalSyncOwnerId', 'must be above 0');
  }
  checks.finish();
  return {
    ...Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)),
    // Minus zero is stored as zero, and objects without a prototype as objects: so they compare as what they are.
    ...(typeof input.vadThreshold === 'number' && { vadThreshold: input.vadThreshold + 0 }),
    ...(input.externalSyncSchemaConfig && { externalSyncSchemaConfig: { ...input.externalSyncSchemaConfig } }),
    ...(input.avatarBackendConfig && { avatarBackendConfig: { ...input.avatarBackendConfig } }),
  };
}

/** @throws DomainError `invalid` where fields that are right by themselves do not go together. */
export function checkTogether({ avatarBackend, avatarBackendConfig }: AgentFields): void {
  const checks = inputChecks();
  if (avatarBackend === 'HOSTED_API' && avatarBackendConfig === null) {
    checks.refuse('input.avatarBackendConfig', 'is required with the avatar backend HOSTED_API');
  }
  checks.finish();
}

function checkNumber(checks: InputChecks, path: string, value: unknown, least: number, most: number): void {
  if (value === undefined || value === null) return;
  if (typeof value !== 'number' || !(value >= least && value <= most)) {
    checks.refuse(path, `must be between ${least} and ${most}`);
  }
}

function checkTemplate(checks: InputChecks, template: string | null | undefined): void {
  if (!template || codePoints(template) > textLimits.evaluationPromptTemplate) return;
  const why = whyNoTemplate(templates, template);
  if (why) checks.refuse('input.evaluationPromptTemplate', why);
}

function checkLabels(checks: InputChecks, labels: string[] | null | undefined): void {
  if (!labels) return;
  const path = 'input.evaluationRecommendationLabels';
  if (labels.length > maxLabels) return checks.refuse(path, `must have at most ${maxLabels} labels`);
  for (const [at, label] of labels.entries()) checks.text(`${path}.${at}`, label, { max: maxLabelLength });
  if (new Set(labels).size < labels.length) checks.refuse(path, 'must not have a label twice');
}

function checkUrl(checks: InputChecks, text: string | null | undefined): void {
  if (!text?.trim()) return; // blank: already refused
  const path = 'input.externalSyncUrl';
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol) || /\s/.test(text)) checks.refuse(path, 'must be an http or https URL');
  else if (url.username || url.password) checks.refuse(path, 'must not hold a user name or password');
}

function checkMapping(checks: InputChecks, mapping: unknown): void {
  if (mapping === undefined || mapping === null) return;
  const path = 'input.externalSyncSchemaConfig';
  if (!isObject(mapping)) return checks.refuse(path, 'must be an object that maps target fields to JSONPaths');
  checks.storable(path, Object.keys(mapping));
  const entries = Object.entries(mapping);
  if (entries.length > maxMappedFields) return checks.refuse(path, `must map at most ${maxMappedFields} fields`);
  for (const [field, jsonPath] of entries) {
    if (codePoints(field) > maxMappingLength) checks.refuse(path, `has a field of over ${maxMappingLength} characters`);
    else checks.text(`${path}.${field.toWellFormed().replaceAll('\0', '')}`, jsonPath, { max: maxMappingLength });
  }
}

function checkAvatarBackendConfig(checks: InputChecks, config: unknown): void {
  if (config === undefined || config === null) return;
  const path = 'input.avatarBackendConfig';
  if (!isObject(config)) return checks.refuse(path, 'must be an object of vendorAvatarId and vendorAvatarModel');
  const { vendorAvatarId, vendorAvatarModel, ...others } = config;
  checks.text(`${path}.vendorAvatarId`, vendorAvatarId, { max: 200 });
  checks.text(`${path}.vendorAvatarModel`, vendorAvatarModel, { max: 200 });
  if (Object.keys(others).length > 0) checks.refuse(path, 'must have vendorAvatarId and vendorAvatarModel only');
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
