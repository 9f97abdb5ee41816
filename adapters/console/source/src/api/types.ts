// Made of the OpenAPI document by tests/console/test_types.py: change the service, and not this file.

export interface AccountRights {
  change: boolean;
  disable: boolean;
  remove: boolean;
  endSessions: boolean;
}

export interface ApiKeyItem {
  id: string;
  name: string;
  start: string;
  permissions: string[] | null;
  networks: string[] | null;
  createdAt: string;
  createdBy: string | null;
  expiresAt: string | null;
  lastUsedAt: string | null;
  lastUsedAddress: string | null;
}

export interface Begun {
  state: string;
  secret?: string;
  uri?: string;
  qrSvg?: string;
  options?: Record<string, unknown>;
}

export interface Branding {
  name: string | null;
  logoUrl: string | null;
  primaryColor: string | null;
  supportEmail: string | null;
}

export interface Challenge {
  ticket: string;
  methods: string[];
  expiresAt: string;
}

export interface ChoiceDescription {
  value: string;
  label: string;
  color: "blue" | "green" | "grey" | "pink" | "purple" | "red" | "teal" | "yellow";
}

export interface CurrentTenant {
  id: string;
  name: string;
  isDefault: boolean;
  permissions: string[];
}

export interface DeliveryItem {
  id: string;
  event: string;
  rowId: string;
  state: "delivered" | "given-up" | "waiting";
  tries: number;
  dueAt: string | null;
  lastStatus: number | null;
  lastError: string | null;
  durationMs: number | null;
  createdAt: string;
}

export interface DnsRecord {
  name: string;
  type: string;
  value: string;
}

export interface DomainItem {
  domain: string;
  mode: "join" | "off" | "request";
  roles: string[];
  state: "lost" | "pending" | "verified";
  record: DnsRecord;
  createdAt: string;
}

export interface EntityDescription {
  plural: string;
  name: string;
  title: string;
  display: string | null;
  columns: string[];
  may: EntityRights;
  own: string[];
  mine: string[];
  has: EntityFeatures;
  sort: string;
  limits: EntityLimits;
  fields: FieldDescription[];
  relations: RelationDescription[];
  unique: string[][];
}

export interface EntityFeatures {
  softDelete: boolean;
  history: boolean;
  shares: boolean;
  changes: boolean;
  search: string[];
  tenantOwned: boolean;
}

export interface EntityLimits {
  pageSize: number;
  batch: number;
}

export interface EntityList {
  entities: EntityDescription[];
  areas: string[];
}

export interface EntityRights {
  create: boolean;
  read: boolean;
  update: boolean;
  delete: boolean;
  purge: boolean;
  import: boolean;
  export: boolean;
}

export interface FactorItem {
  id: string;
  kind: "passkey" | "totp";
  name: string;
  createdAt: string;
  lastUsedAt: string | null;
  isSynced?: boolean;
}

export interface FactorList {
  isSuccess: boolean;
  data: FactorItem[];
  recoveryCodesLeft: number;
}

export interface FieldChange {
  field: string;
  from: unknown;
  to: unknown;
}

export interface FieldDescription {
  name: string;
  title: string;
  kind: string;
  required: boolean;
  nullable: boolean;
  default: unknown;
  writable: boolean;
  rules: FieldRules;
  operators: string[];
  sortable: boolean;
  indexed: boolean;
  help: string | null;
  widget: "color" | "multiline" | "url" | null;
  choices?: ChoiceDescription[];
  target?: string;
  relation?: string;
  targetDisplay?: string | null;
  onDelete?: "cascade" | "clear" | "restrict" | "drop" | "restrict";
  onLeave?: "clear" | "keep" | "restrict";
}

export interface FieldError {
  field: string;
  message: string;
  row?: number;
  details?: FieldError[];
}

export interface FieldRules {
  precision?: number;
  scale?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  choices?: string[];
  types?: string[];
  thumbnails?: Record<string, [number, number]>;
  maxBytes?: number;
  limit?: number;
}

export interface FileColumn {
  name: string;
  field: string | null;
  samples: string[];
}

export interface FileHeader {
  row: number;
  columns: FileColumn[];
  suggested: Suggested;
  sheets: string[];
  sheet: string | null;
}

export interface GivenUpMail {
  id: string;
  kind: string;
  recipient: string;
  at: string;
  tries: number;
  reason: string;
}

export interface GivingRole {
  id: string;
  name: string;
  isSystem: boolean;
}

export interface Health {
  state: "disabled" | "failing" | "ok";
  lastSuccessAt: string | null;
  failingSince: string | null;
  lastStatus: number | null;
  waiting: number;
}

export interface HeldPermission {
  name: string;
  roles: GivingRole[];
}

export interface HistoryEntry {
  version: number;
  action: "changed" | "created" | "deleted" | "purged" | "restored";
  at: string;
  by: string | null;
  changes: FieldChange[];
}

export interface Imported {
  imported: number;
  skipped: number;
  errors: RowErrorShown[];
  errorsTruncated?: boolean;
  skippedRows?: number[];
  header?: FileHeader;
}

export interface InvitationItem {
  id: string;
  email: string;
  roles: string[];
  status: "accepted" | "declined" | "expired" | "pending" | "revoked";
  invitedBy: string;
  createdAt: string;
  expiresAt: string;
}

export interface InvitingTenant {
  name: string;
  branding: Branding;
}

export interface JobResult {
  job: "backup" | "cleaning" | "domains" | "keyExpiry" | "tables" | "unusedFiles";
  at: string;
  hasFailed: boolean;
  amount: number;
  workedAt: string | null;
}

export interface JoinRequestItem {
  id: string;
  email: string;
  fullName: string;
  domain: string;
  roles: string[];
  createdAt: string;
  may: JoinRequestRights;
}

export interface JoinRequestRights {
  approve: boolean;
}

export interface KeyItem {
  id: string;
  algorithm: string;
  activeFrom: string;
  isUsed: boolean;
}

export interface LinkedProvider {
  provider: string;
  linkedAt: string;
}

export interface ListedRoleItem {
  id: string;
  name: string;
  description: string;
  permissions: string[];
  isSystem: boolean;
  userCount: number;
  may: RoleRights;
}

export interface LoginResult {
  token: string;
  refreshToken: string;
  expiresAt: string;
  isGlobal: boolean;
  tokenType: "Global" | "Tenant";
  permissions: string[];
  isFirstLogin: boolean;
  mustChangePassword: boolean;
  daysUntilPasswordExpiration: number | null;
  requiresTenantSelection: boolean;
  currentTenant: CurrentTenant | null;
  smartAutoSwitched: boolean;
  availableTenants?: TenantName[];
  mfaDeadline?: string;
  mustAddFactor?: boolean;
}

export interface MailState {
  delivery: "files" | "smtp";
  waiting: number;
  oldest: string | null;
  givenUp: GivenUpMail[];
}

export interface MemberItem {
  id: string;
  email: string;
  fullName: string;
  roles: string[];
  isActive: boolean;
  createdAt: string;
  isOwner: boolean;
}

export interface NewRecoveryCodes {
  recoveryCodes: string[];
}

export interface NewWebhook {
  id: string;
  url: string;
  serviceAccountId: string;
  description: string;
  events: string[];
  content: "full" | "thin";
  signature: "v1" | "v1a";
  order: "none" | "row";
  isActive: boolean;
  publicKey: string | null;
  createdAt: string;
  createdBy: string | null;
  health: Health;
  secret: string | null;
}

export interface OwnSettings {
  timezone: string;
  language: string;
  currency: string;
  enabledFeatures: string[];
  customSettings: Record<string, unknown>;
  branding: Branding;
  security: TenantSecurity;
}

export interface Permission {
  id: string;
  name: string;
  description: string;
  category: string;
}

export interface Profile {
  id: string;
  email: string;
  fullName: string;
  phoneNumber: string | null;
  profilePictureUrl: string | null;
  emailConfirmed: boolean;
  emailProved: boolean;
  roles: string[];
  permissions: string[];
  tenants: TenantName[];
  identities: LinkedProvider[];
  createdAt: string;
  lastLoginAt: string | null;
}

export interface ReceivedInvitation {
  id: string;
  tenant: InvitingTenant;
  invitedBy: string;
  createdAt: string;
  expiresAt: string;
}

export interface RefreshResult {
  token: string;
  refreshToken: string;
  expiresAt: string;
  isGlobal: boolean;
  tokenType: "Global" | "Tenant";
  permissions: string[];
}

export interface RelationDescription {
  name: string;
  target: string;
  by: string;
  many: boolean;
}

export interface RoleRights {
  change: boolean;
  rename: boolean;
  remove: boolean;
}

export interface RowErrorShown {
  row: number;
  message: string;
  details: FieldError[];
}

export interface ServiceAccountItem {
  id: string;
  name: string;
  description: string;
  roles: string[];
  isActive: boolean;
  createdAt: string;
  createdBy: string | null;
  lastUsedAt: string | null;
  keys: number;
  nextKeyEndsAt: string | null;
  may: ServiceAccountRights;
}

export interface ServiceAccountRights {
  change: boolean;
  remove: boolean;
}

export interface SessionItem {
  id: string;
  device: string;
  address: string;
  createdAt: string;
  lastUsedAt: string;
  isCurrent: boolean;
}

export interface SettingItem {
  name: string;
  value: string | null;
  isSecret: boolean;
  isDefault: boolean;
  source: string | null;
}

export interface Suggested {
  encoding: string | null;
  decimal: string | null;
  dateFormats: string[];
  headerRow: number | null;
}

export interface SystemReport {
  version: string;
  database: boolean;
  redis: boolean;
  mail: MailState;
  keys: KeyItem[];
  jobs: JobResult[];
  settings: SettingItem[];
}

export interface Tenant {
  id: string;
  name: string;
  identifier: string;
  domain: string | null;
  isActive: boolean;
  createdAt: string;
  settings: TenantSettings;
}

export interface TenantName {
  id: string;
  name: string;
  isDefault: boolean;
}

export interface TenantSecurity {
  requireMfa: boolean;
  mfaMethods: ("passkey" | "recovery" | "totp")[];
  mfaGraceDays: number;
  sessionDays: number | null;
  idleDays: number | null;
  requiredSince: string | null;
}

export interface TenantSettings {
  timezone: string;
  language: string;
  currency: string;
  enabledFeatures: string[];
  customSettings: Record<string, unknown>;
  branding?: Branding;
  security?: TenantSecurity;
}

export interface TestResult {
  status: number | null;
  durationMs: number;
  error: string | null;
}

export interface TrafficPoint {
  at: string;
  seconds: number;
  requests: number;
  errors: number;
  refused: number;
  p50: number | null;
  p99: number | null;
}

export interface UserDetail {
  id: string;
  email: string;
  fullName: string;
  roles: string[];
  isActive: boolean;
  createdAt: string;
  phoneNumber: string | null;
  profilePictureUrl: string | null;
  emailConfirmed: boolean;
  isLocked: boolean;
  lockedUntil: string | null;
  secondFactorsLockedUntil: string | null;
  mustChangePassword: boolean;
  lastLoginAt: string | null;
  updatedAt: string;
  tenants: TenantName[];
  may: AccountRights;
}

export interface UserItem {
  id: string;
  email: string;
  fullName: string;
  roles: string[];
  isActive: boolean;
  createdAt: string;
}

export interface WebhookItem {
  id: string;
  url: string;
  serviceAccountId: string;
  description: string;
  events: string[];
  content: "full" | "thin";
  signature: "v1" | "v1a";
  order: "none" | "row";
  isActive: boolean;
  publicKey: string | null;
  createdAt: string;
  createdBy: string | null;
  health: Health;
}
