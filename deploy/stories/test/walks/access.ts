import type { CredentialKind } from '../../src/operations.ts';

/**
 * Who may ask for each operation, as the contract of the public API says it: a second source beside `@access` in the services'
 * schemas, so that a mistake there is found by the walk and not followed. Operations that are not served yet stand here too.
 */
const taking: [by: CredentialKind[], operations: string][] = [
  [
    [],
    `
      isRegisterable login refreshToken register loginWithIdpOne generateOTP validateSecuredToken
      resetUserPasswordWithUrl forgotPasswordWithOTP refreshAvatarToken
    `,
  ],
  [
    ['JWT'],
    `
      getAuthProfile myTenant apiUsageSummary avatarConfig linkIdentity unlinkIdentity
      setPrimaryBillingAccount changePassword generateTwoFactor bindTwoFactor verifyTwoFactor
      unbindTwoFactor createTenant updateTenant deleteTenant generateApiKey upsertAvatarConfig agent
      agents agentCount agentConfigOptions agentAuditLogs workflow workflows workflowVersions
      validateWorkflow createAgent updateAgent deleteAgent createWorkflow updateWorkflow publishWorkflow
      deleteWorkflow aiGenerateWorkflow generateWorkflowDiff testLlmProvider session sessions sessionCount
      avatarToken evaluation startSession sendMessage endSession transcribeSpeech knowledgeBases
      knowledgeDocuments knowledgeDocument retrieveChunks createKnowledgeBase deleteKnowledgeBase
      ingestDocument requestKnowledgeDocumentUpload confirmKnowledgeDocumentUpload deleteKnowledgeDocument
      resyncKnowledgeDocument updateKnowledgeDocumentText ingestDocumentFromUrl mcpConnector mcpConnectors
      listMcpTools customActions certifiedOperations createMcpConnector updateMcpConnector
      deleteMcpConnector createCustomAction updateCustomAction deleteCustomAction
    `,
  ],
  [
    ['API_KEY'],
    `
      generateText startTextGeneration textGenerationEvents sessionsByExternalCustomerId
      customerUsageSummary sdkStart embed
    `,
  ],
  [
    ['JWT', 'API_KEY'],
    `
      runWorkflowTask
    `,
  ],
  [
    ['JWT', 'SESSION_TOKEN'],
    `
      exportRecord interruptSession sessionEvents
    `,
  ],
  [
    ['SESSION_TOKEN'],
    `
      sdkSendMessage sdkEndSession sdkVerifyIdpIdentity requestStudyKitExport
    `,
  ],
];

/** The credentials that each operation takes; none: it is public. */
export const access: ReadonlyMap<string, CredentialKind[]> = new Map(
  taking.flatMap(([by, operations]) =>
    operations
      .trim()
      .split(/\s+/u)
      .map((operation) => [operation, by]),
  ),
);
