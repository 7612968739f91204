<?php
// Installs WordPress from the command line: ada is its administrator, bob an author. Its arguments
// are the folder of WordPress and the public address.
[, $folder, $address] = $argv;
define('WP_INSTALLING', true);
$_SERVER['HTTP_HOST'] = parse_url($address, PHP_URL_HOST);
require "$folder/wp-load.php";
require "$folder/wp-admin/includes/upgrade.php";
wp_install('A blog', 'ada', 'ada@example.org', true, '', 'secret of ada');
wp_insert_user(['user_login' => 'bob', 'user_pass' => 'secret of bob', 'user_email' => 'bob@example.org', 'role' => 'author']);
update_option('permalink_structure', '/%postname%/');
flush_rewrite_rules(true);
wp_insert_post(['post_title' => 'For friends', 'post_name' => 'for-friends', 'post_content' => 'the secret of friends', 'post_password' => 'friend', 'post_status' => 'publish', 'post_author' => 1]);
echo 'installed';
