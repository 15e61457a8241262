// Texts of the platform about the form of a request: parameters, values, pages, filters; and its own faults.
import type { TextRow } from './text-row.ts'

export const REQUEST_TEXTS: readonly TextRow[] = [
  // What is switched off is answered as if our account had no right to it.
  [
    /\b(?:list|restore)Backups?\b.*does not exist/,
    'BACKUPS_NOT_AVAILABLE',
    'The compute platform has no backup provider, or its backup framework is switched off; configure one there first.',
  ],
  [/due to missing parameter (?<field>\w+)/, 'COMPUTE_REJECTED', '`{field}` is missing.'],
  [/due to invalid value (?<value>.+) for parameter (?<field>\w+)/, 'COMPUTE_REJECTED', '`{field}` cannot be {value}.'],
  [
    /greater than max allowed length (?<most>\d+) for param: (?<field>\w+)/,
    'COMPUTE_REJECTED',
    '`{field}` is longer than {most} characters.',
  ],
  [
    /Invalid value provided for API arg: (?<field>name) - it can contain/,
    'COMPUTE_REJECTED',
    '`{field}`[ {sent.name}] must have 1 to 63 letters, digits and hyphens, begin with a letter and end with a letter or digit.',
  ],
  [/Invalid value provided for API arg: (?<field>\w+)/, 'COMPUTE_REJECTED', '`{field}` is empty or has a wrong form.'],
  [
    /illegal ASCII non-printable characters for parameter (?<field>\w+)/,
    'COMPUTE_REJECTED',
    '`{field}` contains control characters, such as a tab or a line break; remove them.',
  ],
  [
    /URLDecoder: Illegal hex|base ?64/i,
    'COMPUTE_REJECTED',
    '`user_data` is not valid Base64; encode it once, with the standard alphabet.',
  ],
  [
    /User data has exceeded configurable max length: (?<most>\d+)/,
    'COMPUTE_REJECTED',
    '`user_data` is longer than {most} bytes.',
  ],
  [
    /Unable to parse date (?<value>\S+) for command/,
    'COMPUTE_REJECTED',
    '{value} is not a date and time; write it as 2026-01-31T12:00:00Z.',
  ],
  [
    /details parameter contains a non permitted value\. The allowed values are \[(?<all>[^\]]*)\]/,
    'COMPUTE_REJECTED',
    '`details` must be among {all}.',
  ],
  [/Specify either id or ids/, 'COMPUTE_REJECTED', 'Give either `id` or `ids`, not both.'],
  [/"page(size)?" parameter is required/, 'COMPUTE_REJECTED', '`page` and `page_size` go together; give both.'],
  [
    /Page size can't exceed max allowed page size value: (?<most>\d+)/,
    'COMPUTE_REJECTED',
    '`page_size`[ {sent.pagesize}] must not be greater than {most}.',
  ],
  [
    /No enum constant .*\.LinkType\.(?<value>\w+)/,
    'COMPUTE_REJECTED',
    '`group_type` must be GROUP or OU, not {value}.',
  ],
  [
    /No enum constant .*\.TemplateFilter\.(?<value>\w+)/,
    'COMPUTE_REJECTED',
    '`template_filter` must be one of all, featured, self, selfexecutable, sharedexecutable, executable and community, not {value}.',
  ],
  [/No enum constant .*\.(?<value>\w+)/, 'COMPUTE_REJECTED', '{value} is not one of the values that are allowed.'],
  [
    /Invalid state value: (?<value>\w+)/,
    'COMPUTE_REJECTED',
    '`state` must be Active or Inactive, not {value}.',
    /DiskOffering/,
  ],
  [
    /Invalid state specified: (?<value>\w+)/,
    'COMPUTE_REJECTED',
    '`state` must be one of Created, Scheduled, Started and Completed, not {value}.',
    /Events/,
  ],
  [/Invalid state (value|specified)/, 'COMPUTE_REJECTED', '`state`[ {sent.state}] is not a state of this resource.'],
  [/Invalid scope specified/, 'COMPUTE_REJECTED', '`scope` must be Local, Domain or Global[, not {sent.scope}].'],
  [
    /Invalid resourceid$/,
    'RESOURCE_NOT_FOUND',
    '[`resource_id` {sent.resourceid}: ]no resource of the given `resource_type` has this id.',
  ],
  [
    /Invalid resource ?type|specify (a )?valid resource type/,
    'COMPUTE_REJECTED',
    '`resource_type`[ {sent.resourcetype}] is not a type that the compute platform knows.',
  ],
  [/resourceid parameter must be used with/, 'COMPUTE_REJECTED', '`resource_id` needs `resource_type`.'],
  [
    /Unexpected Guest type : (?<value>\w+)/,
    'COMPUTE_REJECTED',
    '`type` must be one of Isolated, Shared and L2, not {value}.',
  ],
  [
    /Invalid value of networkfilter: (?<value>\w+)/,
    'COMPUTE_REJECTED',
    '`network_filter` must be one of account, domain, accountdomain, shared and all, not {value}.',
  ],
  [/allocatedonly is true but state is Free/, 'COMPUTE_REJECTED', 'No allocated address is Free; leave `state` out.'],
  [
    /Only value supported for sortBy parameter is/,
    'COMPUTE_REJECTED',
    '`sort_by` must be usage, or left out[, not {sent.sortby}].',
  ],
  [
    /startdate cannot be after enddate/i,
    'COMPUTE_REJECTED',
    '`start_date`[ {sent.startdate}] is after `end_date`[ {sent.enddate}].',
  ],
  [
    /either ids, type, (startdate or )?enddate must be specified|either ids, type or enddate/,
    'COMPUTE_REJECTED',
    'Say which ones: give `ids`, `type`, or `end_date` with or without `start_date`.',
  ],
  [
    /Unable to archive Events, one or more/,
    'COMPUTE_REJECTED',
    'The events cannot be archived: at least one does not exist or is archived already.',
  ],
  [/unable to find an api by that name/, 'RESOURCE_NOT_FOUND', 'The compute platform has no command[ {sent.name}].'],
  [/Config parameter with name (?<name>\S+) doesn't exist/, 'RESOURCE_NOT_FOUND', 'Setting {name} not found.'],
  [
    /Value \[(?<value>[^\]]*)\] is not a valid \[class (?<type>\w+)\]/,
    'COMPUTE_REJECTED',
    'The setting[ {sent.name}] takes a value of the type {type}, not {value}.',
  ],
  [/UUID: (?<value>\S+) doesn't follow the UUID format/, 'COMPUTE_REJECTED', '{value} is not a UUID.'],
  [/UUID: (?<value>\S+) already exists/, 'COMPUTE_CONFLICT', 'The id {value} belongs to something else already.'],
  [/^Entity already exists/, 'COMPUTE_CONFLICT', 'An operation with this id exists already.'],
  [/Unable to find zone by id null/, 'COMPUTE_REJECTED', '`zone_id` is missing.'],
  [
    /default alert having type (?<type>\d+)/,
    'COMPUTE_REJECTED',
    'The alert type {type} is one of the compute platform itself.',
  ],
  [
    /unable to verify user credentials/,
    'COMPUTE_ERROR',
    'The compute platform did not accept the credentials of this service, or does not have the command; its operators must check both.',
  ],
  [
    /The API \[\w*\] does not exist or is not available/,
    'COMPUTE_ERROR',
    'The account of this service on the compute platform may not do this; its operators must give its role the right.',
  ],
  [
    /does not have permission to operate|not authorized to see job/,
    'COMPUTE_REJECTED',
    'The account that this is done for has no right to the resource; name its owner, or a resource of that account.',
  ],
  [
    /Failed to authenticate user/,
    'COMPUTE_ERROR',
    'The compute platform did not accept the credentials of this service.',
  ],
]

/** Last of all: what the platform says when it fails inside. */
export const FAULT_TEXTS: readonly TextRow[] = [
  [
    /^Failed to (?<what>(create|restart|update) (network|VPC))$/i,
    'COMPUTE_ERROR',
    'The compute platform could not {what} and gives no reason; its operators find it in their log.',
  ],
  [
    /^no reason was given$/,
    'COMPUTE_ERROR',
    'The compute platform failed and gives no reason; its operators find it in their log.',
  ],
  [
    /^Cannot invoke "|cannot be cast to class|error in your SQL syntax|Unable to (find|persist|expunge|update) on DB/,
    'COMPUTE_ERROR',
    'The compute platform met an error of its own; its operators find it in their log.',
  ],
]
